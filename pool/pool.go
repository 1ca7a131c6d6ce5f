package pool

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redquorum/redquorum/internal/deliver"
	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/script"
)

// MaxMasters is how many masters a pool may have.
const MaxMasters = 63

// scripts are the scripts that the masters must have.
var scripts = func() (all []pipeline.Script) {
	for _, s := range script.All {
		all = append(all, pipeline.Script{SHA: s.SHA, Source: s.Source})
	}
	return all
}()

// A Pool holds the connections to a fixed list of masters. It is safe for concurrent use.
type Pool struct {
	masters   []*pipeline.Pipeline
	timeout   time.Duration
	deliverer *deliver.Deliverer // of log lines, to the pool's logger
	onClose   []func()           // of the masters' configurations
}

// New checks the URLs and options and starts to connect in the background: it
// does not wait for any master. The list must name between 1 and [MaxMasters]
// masters, none of them twice; every client of the same locks must use the
// same list.
//
// A URL is one of
//
//	redis://[user:password@]host[:port][/db]
//	rediss://[user:password@]host[:port][/db]      (TLS)
//	unix://[user:password@]/path/to/socket[?db=n]
//
// The port defaults to 6379 and the database to 0. The schemes valkey and tcp mean redis,
// and valkeys means rediss. An error names the URL by its position and its address, never by
// its credentials.
//
// The parameters are those of go-redis: db, client_name, dial_timeout (5s, or a number of
// seconds; 10 ms to 1 minute) and skip_verify do the same here. Those about its pool, its
// retries, its time-outs of commands and its protocol are accepted and do nothing. Others are
// refused. Where one master needs more than a URL can say, use [NewFromConfigs].
func New(urls []string, opts ...Option) (*Pool, error) {
	configs := make([]Config, len(urls))
	for i, raw := range urls {
		var err error
		if configs[i], err = parseURL(raw); err != nil {
			return nil, fmt.Errorf("pool: master URL %d: %w", i+1, err)
		}
	}
	return newPool("master URL", configs, opts)
}

// NewFromConfigs is New for masters that are described one by one.
func NewFromConfigs(masters []Config, opts ...Option) (*Pool, error) {
	return newPool("master", masters, opts)
}

// newPool uses what as the name of a master in errors, before its position.
func newPool(what string, masters []Config, opts []Option) (*Pool, error) {
	o := defaults()
	for _, opt := range opts {
		if opt == nil {
			return nil, errors.New("pool: an option is nil")
		}
		if err := opt(&o); err != nil {
			return nil, fmt.Errorf("pool: %w", err)
		}
	}
	configs, err := o.configs(what, masters)
	if err != nil {
		return nil, fmt.Errorf("pool: %w", err)
	}
	p := &Pool{timeout: o.commandTimeout, deliverer: configs[0].Deliverer}
	for i, cfg := range configs {
		p.masters = append(p.masters, pipeline.New(cfg))
		if f := masters[i].OnClose; f != nil {
			p.onClose = append(p.onClose, sync.OnceFunc(f))
		}
	}
	return p, nil
}

// configs makes the configurations of the pipelines.
func (o *options) configs(what string, masters []Config) ([]pipeline.Config, error) {
	if n := len(masters); n < 1 || n > MaxMasters {
		return nil, fmt.Errorf("%d %ss given: want 1 to %d", n, what, MaxMasters)
	}
	if o.hasAuth && o.credentials != nil {
		return nil, errors.New("WithAuth and WithCredentials are both given: want one of them")
	}
	configs := make([]pipeline.Config, 0, len(masters))
	seen := make(map[string]int)
	deliverer := deliver.New(o.logger)
	for i, c := range masters {
		if err := c.settle(o); err != nil {
			return nil, fmt.Errorf("%s %d: %w", what, i+1, err)
		}
		// Two databases of one server are one master too: it fails as one.
		at := c.Network + " " + c.Addr
		if first, ok := seen[at]; ok {
			return nil, fmt.Errorf("%s %d: %s is already master %d: every master must be given once",
				what, i+1, c.Addr, first)
		}
		seen[at] = i + 1
		cfg := pipeline.Config{
			Name:        c.Addr,
			Network:     c.Network,
			Addr:        c.Addr,
			TLS:         c.TLS,
			Username:    c.Username,
			Password:    c.Password,
			DB:          c.DB,
			ClientName:  c.ClientName,
			Credentials: c.Credentials,
			Dialer:      c.Dialer,
			DialTimeout: c.DialTimeout,
			StallLimit:  o.stall(),
			MinBackoff:  o.minBackoff,
			MaxBackoff:  o.maxBackoff,
			QueueLimit:  o.queueLimit,
			Scripts:     scripts,
			Deliverer:   deliverer,
			Chance:      o.chance,
		}
		if o.yield != nil {
			cfg.Yield = func() { o.yield(i) }
		}
		configs = append(configs, cfg)
	}
	return configs, nil
}

// Len is the number of masters.
func (p *Pool) Len() int { return len(p.masters) }

// CommandTimeout is the value of WithCommandTimeout; 0 if it was not given.
func (p *Pool) CommandTimeout() time.Duration { return p.timeout }

// Close fails what is queued with [ErrClosed], closes the connections and waits for their
// goroutines. The kernel still delivers what a master far away has been sent. It blocks only for as
// long as a dialer of the caller's takes to notice that its context ended, and for half a second at
// most where a credentials callback does not notice it. Log lines that are left are written for a
// second at most, and the rest is dropped; a log handler that blocks may be running still. It may
// be called more than once.
func (p *Pool) Close() error {
	var wg sync.WaitGroup
	for _, m := range p.masters {
		wg.Go(m.Close)
	}
	wg.Wait()
	for _, f := range p.onClose {
		f()
	}
	p.deliverer.Close()
	return nil
}

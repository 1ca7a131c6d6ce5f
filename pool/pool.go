package pool

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/script"
)

// MaxMasters is how many masters a pool may have.
const MaxMasters = 63

// scripts are what the masters must have.
var scripts = func() (all []pipeline.Script) {
	for _, s := range script.All {
		all = append(all, pipeline.Script{SHA: s.SHA, Source: s.Source})
	}
	return all
}()

// A Pool holds the connections to a fixed list of masters. It is safe for concurrent
// use.
type Pool struct {
	masters []*pipeline.Pipeline
	timeout time.Duration
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
// The port defaults to 6379 and the database to 0. An error names the URL by
// its position and its address, never by its credentials.
func New(urls []string, opts ...Option) (*Pool, error) {
	o := defaults()
	for _, opt := range opts {
		if opt == nil {
			return nil, errors.New("pool: an option is nil")
		}
		if err := opt(&o); err != nil {
			return nil, fmt.Errorf("pool: %w", err)
		}
	}
	configs, err := o.configs(urls)
	if err != nil {
		return nil, fmt.Errorf("pool: %w", err)
	}
	p := &Pool{timeout: o.commandTimeout}
	for _, cfg := range configs {
		p.masters = append(p.masters, pipeline.New(cfg))
	}
	return p, nil
}

// configs turns the URLs into what the pipelines need.
func (o *options) configs(urls []string) ([]pipeline.Config, error) {
	if n := len(urls); n < 1 || n > MaxMasters {
		return nil, fmt.Errorf("%d master URLs given: want 1 to %d", n, MaxMasters)
	}
	if o.hasAuth && o.credentials != nil {
		return nil, errors.New("WithAuth and WithCredentials are both given: want one of them")
	}
	configs := make([]pipeline.Config, 0, len(urls))
	seen := make(map[string]int)
	for i, raw := range urls {
		t, err := parseURL(raw)
		if err != nil {
			return nil, fmt.Errorf("master URL %d: %w", i+1, err)
		}
		// Two databases of one server are one master too: it fails as one.
		at := t.network + " " + t.addr
		if first, ok := seen[at]; ok {
			return nil, fmt.Errorf("master URL %d: %s is already master %d: every master must be given once", i+1, t.addr, first)
		}
		seen[at] = i + 1
		cfg := pipeline.Config{
			Name:        t.addr,
			Network:     t.network,
			Addr:        t.addr,
			Username:    t.username,
			Password:    t.password,
			DB:          t.db,
			ClientName:  o.clientName,
			Credentials: o.credentials,
			Dialer:      o.dialer,
			DialTimeout: o.dialTimeout,
			StallLimit:  o.stall(),
			MinBackoff:  o.minBackoff,
			MaxBackoff:  o.maxBackoff,
			QueueLimit:  o.queueLimit,
			Scripts:     scripts,
			Logger:      o.logger,
			Chance:      o.chance,
		}
		if o.yield != nil {
			cfg.Yield = func() { o.yield(i) }
		}
		if cfg.TLS, err = o.tlsFor(t); err != nil {
			return nil, fmt.Errorf("master URL %d: %s: %w", i+1, t.addr, err)
		}
		if t.hasDB && o.hasDB && t.db != o.db {
			return nil, fmt.Errorf("master URL %d: %s: database %d in the URL, %d in WithDatabase", i+1, t.addr, t.db, o.db)
		}
		if o.hasDB {
			cfg.DB = o.db
		}
		if o.hasAuth {
			cfg.Username, cfg.Password = o.username, o.password
		}
		configs = append(configs, cfg)
	}
	return configs, nil
}

// Len is the number of masters.
func (p *Pool) Len() int { return len(p.masters) }

// CommandTimeout is the value of WithCommandTimeout; 0 if it was not given.
func (p *Pool) CommandTimeout() time.Duration { return p.timeout }

// Close fails what is queued with [ErrClosed], closes the connections and
// waits for their goroutines. The kernel still delivers what a master far away
// has been sent. It blocks only for as long as a dialer of the
// caller's takes to notice that its context ended, and for half a second at most
// where a credentials callback does not notice it. It may be called more than once.
func (p *Pool) Close() error {
	var wg sync.WaitGroup
	for _, m := range p.masters {
		wg.Go(m.Close)
	}
	wg.Wait()
	return nil
}

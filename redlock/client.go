package redlock

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/rs/xid"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/ballot"
	"github.com/redquorum/redquorum/internal/deliver"
	"github.com/redquorum/redquorum/internal/hold"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/seam"
	"github.com/redquorum/redquorum/internal/token"
	"github.com/redquorum/redquorum/internal/voters"
	"github.com/redquorum/redquorum/internal/waitqueue"
	"github.com/redquorum/redquorum/internal/wire"
	"github.com/redquorum/redquorum/pool"
)

// A Client takes locks on a fixed list of masters. Make one for the program and
// share it: it is safe for concurrent use.
type Client struct {
	opts     clientOptions
	pool     *pool.Pool
	ownsPool bool
	// ownsDeliverer: the client has its own, as the pool is the caller's or has its own logger.
	ownsDeliverer bool
	group         *quorum.Group
	id            string // xid: the client's part of its tokens

	pilots       *quorum.Chooser
	wire         *wire.Wire
	waiting      waitqueue.Room // calls that wait
	calls        sync.Pool      // of *call
	holds        *hold.Manager
	voters       *voters.Monitor
	errs         publicErrors
	tracer       tracer
	beginClosing context.CancelCauseFunc // ends the group's Closing with cause ErrClosed, when Close begins

	// mu guards what follows.
	mu     sync.Mutex
	closed chan struct{} // made when Close begins, closed when it has ended
	doing  map[*Lock]chan struct{}
}

// Open makes a client for the masters at the URLs, with a pool of its own. It
// checks the URLs (see pool.New) and options and starts to connect; it does not
// wait for any master, and succeeds when none can be reached. Every client of
// the same locks must be given the same masters, written the same way: waiting calls
// find each other by the text of the addresses. Close it when it is needed no more.
//
// A quorum is more than half of the masters: of 5, any 2 may fail; an even
// number tolerates no more failures than the odd one below it, and is accepted
// with a warning in the log.
func Open(urls []string, opts ...Option) (*Client, error) {
	return openOn(func(opts ...pool.Option) (*pool.Pool, error) { return pool.New(urls, opts...) }, opts)
}

// OpenConfigs is Open with a configuration for each master, where a URL cannot say what a master
// needs. contrib/goredis makes the configurations of go-redis clients.
func OpenConfigs(masters []pool.Config, opts ...Option) (*Client, error) {
	return openOn(func(opts ...pool.Option) (*pool.Pool, error) { return pool.NewFromConfigs(masters, opts...) }, opts)
}

func openOn(newPool func(...pool.Option) (*pool.Pool, error), opts []Option) (*Client, error) {
	o, err := clientOptionsOf(opts)
	if err != nil {
		return nil, err
	}
	p, err := newPool(append([]pool.Option{pool.WithLogger(o.logger)}, o.poolOpts...)...)
	if err != nil {
		return nil, fmt.Errorf("redlock: %w", err)
	}
	c, err := newClient(p, true, o)
	if err != nil {
		_ = p.Close()
	}
	return c, err
}

// New makes a client on a pool that the caller owns, and closes after the
// client.
func New(p *pool.Pool, opts ...Option) (*Client, error) {
	if p == nil {
		return nil, errors.New("redlock: the pool is nil")
	}
	o, err := clientOptionsOf(opts)
	if err != nil {
		return nil, err
	}
	if o.poolGiven {
		return nil, errors.New("redlock: WithPool: the pool is made already: give its options to pool.New")
	}
	return newClient(p, false, o)
}

func clientOptionsOf(opts []Option) (*clientOptions, error) {
	o := defaultOptions()
	for _, opt := range opts {
		if opt == nil {
			return nil, errors.New("redlock: an option is nil")
		}
		if err := opt.applyClient(&o); err != nil {
			return nil, fmt.Errorf("redlock: %w", err)
		}
	}
	if err := o.validateMaxTTL(); err != nil {
		return nil, fmt.Errorf("redlock: %w", err)
	}
	if err := o.lock.validate(&o); err != nil {
		return nil, fmt.Errorf("redlock: %w", err)
	}
	if err := o.settleRetention(); err != nil {
		return nil, fmt.Errorf("redlock: %w", err)
	}
	o.settleLongest()
	o.clock = drift.Cumulative(o.clock) // S7: a step back does not hide a later step forward
	return &o, nil
}

func newClient(p *pool.Pool, owned bool, o *clientOptions) (*Client, error) {
	cfg, err := o.guardConfig(p.Len())
	if err != nil {
		return nil, fmt.Errorf("redlock: %w", err)
	}
	c := &Client{
		opts:     *o,
		pool:     p,
		ownsPool: owned,
		group: &quorum.Group{
			Masters:   seam.Pipelines(p),
			Need:      quorum.Need(p.Len()),
			Clock:     o.clock,
			Chance:    o.chance,
			Deliverer: seam.Deliverer(p),
		},
		id:    o.id,
		doing: make(map[*Lock]chan struct{}),
	}
	c.ownsDeliverer = !owned || !c.group.Deliverer.LogsTo(o.logger)
	if c.ownsDeliverer {
		c.group.Deliverer = deliver.New(o.logger)
	}
	c.group.Closing, c.beginClosing = context.WithCancelCause(context.Background())
	if c.id == "" {
		c.id = xid.New().String()
	}
	inQueues := strings.TrimSuffix(token.Prefix(o.lock.hold.Owner, c.id), ":")
	if n := p.Len(); n%2 == 0 {
		o.logger.Warn("an even number of masters tolerates no more failures than one less",
			"masters", n, "tolerated", n-c.group.Need)
	}
	c.voters = voters.New(voters.Config{
		Group:        c.group,
		Guard:        cfg,
		Owner:        o.lock.hold.Owner,
		ClockChanged: o.trace.clockChanged(),
	})
	c.errs = publicErrors{group: c.group, voters: c.voters, clock: o.clock, id: c.id}
	c.tracer.trace, c.tracer.logger, c.tracer.clock, c.tracer.errs = o.trace, o.logger, o.clock, &c.errs
	c.pilots = quorum.NewChooser(c.group.Masters, c.voters.MayVote)
	c.wire = wire.New(wire.Config{
		Ballots:    ballot.Config{Group: c.group, Voters: c.voters, Timed: o.trace.timed()},
		Pilots:     c.pilots,
		ID:         inQueues,
		Strict:     o.strict(),
		Retention:  o.kept,
		Longest:    o.longest,
		Successors: &c.waiting,
	})
	c.waiting.Init(waitqueue.Config{
		Masters:    waitqueue.Masters(c.group.Masters),
		Need:       c.group.Need,
		Pilots:     c.pilots,
		Voters:     c.voters,
		Queues:     c.wire,
		ID:         inQueues,
		Prefix:     o.prefix,
		OutageWait: o.outage,
		Chance:     o.chance,
		Closing:    c.group.Closing,
	})
	c.holds = hold.New(hold.Config{
		Group: c.group, Wire: c.wire, Voters: c.voters, CommandTimeout: p.CommandTimeout(),
		Validity: o.validity, Allowance: o.drift.Allowance, KeyName: c.opts.withoutPrefix,
		Unlocked: ErrUnlocked, ClientID: c.id, Owner: o.lock.hold.Owner,
	})
	return c, nil
}

// newLock checks the arguments of a call and makes its handle.
func (c *Client) newLock(ctx context.Context, op wire.Op, key string, opts []LockOption) (*Lock, error) {
	if err := c.check(ctx); err != nil {
		return nil, fmt.Errorf("redlock: %v %q: %w", op, key, err)
	}
	if c.isClosed() {
		return nil, endedBy(ctx, fmt.Errorf("redlock: %v %q: %w", op, key, ErrClosed))
	}
	if err := c.opts.checkKey(key); err != nil {
		return nil, fmt.Errorf("redlock: %v: %w", op, err)
	}
	l := &Lock{c: c, opts: c.opts.lock}
	o := &l.opts
	for _, opt := range opts {
		if opt == nil {
			return nil, fmt.Errorf("redlock: %v %q: an option is nil", op, key)
		}
		if err := opt.applyLock(o); err != nil {
			return nil, fmt.Errorf("redlock: %v %q: %w", op, key, err)
		}
	}
	if len(opts) > 0 {
		if err := o.validate(&c.opts); err != nil {
			return nil, fmt.Errorf("redlock: %v %q: %w", op, key, err)
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("redlock: %v %q: nothing was attempted: %w", op, key, err)
	}
	claim := l.own.Init(c.holds, (*owner)(l), &l.handle, &o.hold, key, c.opts.prefix+key)
	claim.TTL, claim.Fenced = o.ttl, o.fenced
	return l, nil
}

// sibling returns a new handle for the same lock as l, with which no attempt was made.
func (l *Lock) sibling() *Lock {
	s := &Lock{c: l.c, opts: l.opts}
	s.own.InitLike(l.handle.Hold(), (*owner)(s), &s.handle, &s.opts.hold)
	return s
}

var errNoClient = errors.New("the client is nil, or was made neither by Open nor by New")

// check rejects what would panic: a nil context, and a client that neither Open nor New made.
func (c *Client) check(ctx context.Context) error {
	if c == nil || c.pool == nil {
		return errNoClient
	}
	if ctx == nil {
		return errors.New("the context is nil")
	}
	return nil
}

func (c *Client) isClosed() bool { return c.group.Closing.Err() != nil }

// Close ends the client. Calls that wait leave their queues and end with ErrClosed. The contexts of
// all locks end with a *LostError of ReasonClosed. Close waits for running Do and TryDo calls, but
// only for as long as their locks are valid. Then it sends refused releases once more, and unlocks
// everything except locks WithUnlockOnly, a few thousand at a time. It waits for the calls under
// way, which end soon, and then for the answers of all masters. That last wait ends when no master
// has answered for as long as one operation may take, and after 2 s at most. All goroutines have
// ended when Close returns. Later calls wait for the first.
func (c *Client) Close() error {
	if err := c.check(context.Background()); err != nil {
		return fmt.Errorf("redlock: close: %w", err)
	}
	c.mu.Lock()
	if c.closed != nil {
		closed := c.closed
		c.mu.Unlock()
		<-closed
		return nil
	}
	c.closed = make(chan struct{})
	defer close(c.closed)
	c.beginClosing(ErrClosed)
	c.mu.Unlock()

	valid := c.holds.LoseAll()
	c.awaitDo(valid)
	for _, m := range c.group.Masters { // refused releases, once more
		m.SendPostponed()
	}
	c.holds.ReleaseAll(valid, c.opts.lock.ttl)
	limit := c.holds.EndTimeout(c.opts.lock.ttl)
	c.waiting.AwaitLeave(limit)
	if c.ownsPool { // what was never sent needs no release
		for _, m := range c.group.Masters {
			m.CloseUnused()
		}
	}
	// A running call ends soon (see ballot.Wait), unless its trace blocks, perhaps on this Close.
	// What it rolls back later is sent only if the pool is the caller's.
	c.group.Running.Wait(limit + 2*c.holds.EndTimeout(c.opts.maxTTL)) // timers may be late
	c.awaitAnswers(limit)
	c.holds.Stop()
	c.waiting.Close()
	c.voters.Close()
	if c.ownsDeliverer {
		c.group.Deliverer.Close()
	}
	if c.ownsPool {
		return c.pool.Close()
	}
	return nil
}

// mostAnswers is how long Close waits at most while masters go on answering.
const mostAnswers = 2 * time.Second

// awaitAnswers waits for the answers of all masters, until none has answered anything for limit.
func (c *Client) awaitAnswers(limit time.Duration) {
	answers := func() (n uint64) {
		for _, m := range c.group.Masters {
			n += m.Stats().Commands
		}
		return n
	}
	end := time.Now().Add(mostAnswers)
	for before := answers(); !c.group.InFlight.Wait(min(limit, time.Until(end))) && time.Now().Before(end); {
		now := answers()
		if now == before {
			return
		}
		before = now
	}
}

// awaitDo waits for the running Do calls, each for as long as its lock is valid.
func (c *Client) awaitDo(valid map[*hold.Hold]time.Duration) {
	began := time.Now()
	c.mu.Lock()
	running := make(map[*Lock]chan struct{}, len(c.doing))
	for l, done := range c.doing {
		running[l] = done
	}
	c.mu.Unlock()
	for l, done := range running {
		left := valid[l.handle.Hold()] - time.Since(began)
		if left <= 0 {
			continue
		}
		t := time.NewTimer(left)
		select {
		case <-done:
		case <-t.C:
		}
		t.Stop()
	}
}

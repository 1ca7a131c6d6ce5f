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
	"github.com/redquorum/redquorum/internal/group"
	"github.com/redquorum/redquorum/internal/hold"
	"github.com/redquorum/redquorum/internal/inpool"
	"github.com/redquorum/redquorum/internal/pilot"
	"github.com/redquorum/redquorum/internal/quorum"
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
	group    *group.Group
	id       string // xid: the client's part of its tokens
	fleet    fleetName

	pilots    *pilot.Chooser
	wire      *wire.Wire
	waiting   waitqueue.Room // calls that wait
	calls     sync.Pool      // of *call
	holds     *hold.Home
	voters    *voters.Monitor         // nil: every master is believed
	nodeInfos sync.Pool               // of *[]NodeInfo, see traceNodes
	endLife   context.CancelCauseFunc // of the group's life: when Close begins, with cause ErrClosed

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
	o, err := clientOptionsOf(opts)
	if err != nil {
		return nil, err
	}
	p, err := pool.New(urls, append([]pool.Option{pool.WithLogger(o.logger)}, o.poolOpts...)...)
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
	o.clock = drift.Cumulative(o.clock) // S7: a step back hides no later one forward
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
		group:    &group.Group{Masters: inpool.Pipelines(p), Need: quorum.Need(p.Len()), Clock: o.clock, Chance: o.chance},
		id:       o.id,
		doing:    make(map[*Lock]chan struct{}),
	}
	c.group.Life, c.endLife = context.WithCancelCause(context.Background())
	if c.id == "" {
		c.id = xid.New().String()
	}
	inQueues := strings.TrimSuffix(token.Prefix(o.lock.hold.Owner, c.id), ":")
	if n := p.Len(); n%2 == 0 {
		o.logger.Warn("an even number of masters tolerates no more failures than one less", "masters", n, "tolerated", n-c.group.Need)
	}
	if o.guard != GuardOff {
		c.voters = voters.New(voters.Config{
			Group: c.group, Guard: cfg, Logger: o.logger, ClockChanged: o.trace.clockChanged(),
		})
	}
	c.pilots = pilot.New(c.group.Masters, c.voters.MayVote) // which a nil monitor answers, too
	c.wire = wire.New(wire.Config{
		Ballots: ballot.Config{Group: c.group, Voters: c.voters, Timed: o.trace.timed(), Replied: c.replied()},
		Pilots:  c.pilots, ID: inQueues, Strict: o.strict(), Retention: o.kept, Longest: o.longest, Successors: &c.waiting,
	})
	c.waiting.Init(waitqueue.Config{
		Masters: waitqueue.Masters(c.group.Masters), Need: c.group.Need, Pilots: c.pilots, Queues: c.wire, ID: inQueues, Prefix: o.prefix,
		OutageWait: o.outage, Chance: o.chance, Life: c.group.Life,
	})
	c.holds = hold.New(hold.Config{
		Group: c.group, Wire: c.wire, Voters: c.voters, CommandTimeout: p.CommandTimeout(),
		Validity: o.validity, Allowance: o.drift.Allowance, KeyName: c.withoutPrefix,
		Unlocked: ErrUnlocked, ClientID: c.id, Owner: o.lock.hold.Owner,
	})
	return c, nil
}

// nodeTimeout is how long one master is waited for: the pool's command timeout
// or a twentieth of the TTL, never more than the validity.
func (c *Client) nodeTimeout(ttl time.Duration) time.Duration { return c.holds.Timeout(ttl) }

// newLock checks a call and makes the handle that it is about.
func (c *Client) newLock(ctx context.Context, op wire.Op, key string, opts []LockOption) (*Lock, error) {
	if c.isClosed() {
		return nil, fmt.Errorf("redlock: %v %q: %w", op, key, ErrClosed)
	}
	if err := c.checkKey(key); err != nil {
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
	claim.TTL, claim.Fenced, claim.Floor = o.ttl, o.fenced, o.floor
	return l, nil
}

// sibling is a handle for what l is for, before anything was attempted.
func (l *Lock) sibling() *Lock {
	s := &Lock{c: l.c, opts: l.opts}
	s.own.InitLike(l.handle.Hold(), (*owner)(s), &s.handle, &s.opts.hold)
	return s
}

func (c *Client) checkKey(key string) error {
	switch n := len(key); {
	case n == 0:
		return errors.New("the key is empty")
	case n > wire.MaxKey:
		return fmt.Errorf("the key has %d bytes: want 1 to %d", n, wire.MaxKey)
	}
	if full := c.opts.prefix + key; len(full) >= len(wire.ReservedPrefix) && full[:len(wire.ReservedPrefix)] == wire.ReservedPrefix {
		return fmt.Errorf("key %q: the prefix %q is reserved", key, wire.ReservedPrefix)
	}
	return nil
}

func (c *Client) isClosed() bool { return c.group.Life.Err() != nil }

// Close ends the client. Calls that wait leave their queues and end with ErrClosed. The
// contexts of all locks end with a *LostError of ReasonClosed. Close waits for running Do
// and TryDo calls, but only for as long as their locks are valid. Then it unlocks
// everything but locks WithUnlockOnly, a few thousand at a time, sends releases once more
// that masters have refused, waits for the calls under way, which end soon, and then for the
// answers no longer than one operation does.
// If the client owns its pool, it does not wait for the answers of masters that are 20 ms
// away or more: once a quorum has answered, their releases only have to be written. All
// goroutines have ended when Close returns. Later calls wait for the first.
func (c *Client) Close() error {
	c.mu.Lock()
	if c.closed != nil {
		closed := c.closed
		c.mu.Unlock()
		<-closed
		return nil
	}
	c.closed = make(chan struct{})
	defer close(c.closed)
	c.endLife(ErrClosed)
	c.mu.Unlock()

	valid := c.holds.LoseAll()
	c.awaitDo(valid)
	for _, m := range c.group.Masters { // releases that were refused: once more
		m.SendPostponed()
	}
	c.holds.ReleaseAll(valid, c.opts.lock.ttl)
	limit := c.nodeTimeout(c.opts.lock.ttl)
	c.waiting.AwaitLeave(limit)
	if c.ownsPool { // what was never sent needs no release
		for _, m := range c.group.Masters {
			m.CloseUnused()
		}
	}
	c.awaitDelivery(limit)
	c.holds.Stop()
	c.waiting.Close()
	c.voters.Close()
	if c.ownsPool {
		return c.pool.Close()
	}
	return nil
}

// deliveryLook is the pause between two looks at what the masters have been sent.
const deliveryLook = time.Millisecond

// awaitDelivery waits until no call is running, and then until all masters have answered, for
// limit at most. A running call ends soon (see ballot.Wait), unless a trace holds it up; what it
// rolls back then is still sent. In a pool of the client's own it does not wait for masters far away: it
// returns when two looks find that no call is running, that a quorum has answered everything,
// and that the others have been sent everything (see pipeline.Delivery).
func (c *Client) awaitDelivery(limit time.Duration) {
	before, deadline := uint64(0), time.Now().Add(limit)
	longest := deadline.Add(2 * c.nodeTimeout(c.opts.maxTTL)) // a call may take so long where timers are late
	for time.Now().Before(deadline) && !c.group.InFlight.Wait(deliveryLook) {
		if c.group.Running.Load() != 0 {
			if deadline = time.Now().Add(limit); deadline.After(longest) {
				deadline = longest
			}
			continue
		}
		if !c.ownsPool {
			continue
		}
		accepted, answered, settled := uint64(1), 0, 0 // 1: not what before begins with
		for _, m := range c.group.Masters {
			d := m.Delivery()
			accepted += d.Accepted
			if d.Answered {
				answered++
			}
			if d.Settled {
				settled++
			}
		}
		if answered < c.group.Need || settled < len(c.group.Masters) {
			accepted = 0
		}
		if accepted != 0 && accepted == before {
			return
		}
		before = accepted
	}
}

// awaitDo waits for the running Do calls, each for as long as its lock is
// valid.
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

// made reports whether this client made a token: for a hold of its own, or one
// that it has handed over since.
func (c *Client) made(holder string) bool {
	_, client, ok := token.Parse(holder)
	return ok && client == c.id
}

package sim

import (
	"fmt"
	"sync"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/chance"
	"github.com/redquorum/redquorum/internal/seam"
	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

// A client is a simulated process: it has its own clock, and one redlock.Client after another.
type client struct {
	w       *world
	index   int
	name    string
	clock   *clock
	opening sync.Mutex // held while the client is reopened
	pool    *pool.Pool // shared with the next client (SharePools); may be nil

	mu         sync.Mutex // guards what follows; no call into the library is made under it
	current    *redlock.Client
	set        settings
	wanted     settings // the operator's new settings; zero: it keeps its own
	generation int
	active     []*active
	blocked    chan struct{} // listeners wait for it; nil: they do not block
}

// settings are what all clients of a key must agree on.
type settings struct {
	urls   []string
	maxTTL time.Duration
	guard  redlock.GuardLevel
}

// lock returns the current redlock.Client, or nil while the client is shut.
func (c *client) lock() *redlock.Client {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current
}

func (c *client) open(set settings) error {
	p := c.w.p
	c.mu.Lock()
	c.set = set
	c.mu.Unlock()
	poolOpts := []pool.Option{
		pool.WithDialTimeout(max(10*time.Millisecond, p.StallLimit)),
		pool.WithStallLimit(max(10*time.Millisecond, p.StallLimit)),
		pool.WithBackoff(2*time.Millisecond, 50*time.Millisecond),
	}
	if !p.Untimed {
		poolOpts = append(poolOpts, pool.WithCommandTimeout(p.CommandTimeout))
	}
	if !c.w.tcp {
		poolOpts = append(poolOpts, pool.WithDialer(c.w.net.dialer(c.index)))
	}
	as := uint64(c.index + maxClients*c.generation)
	hooks := seam.Hooks{
		ID:     fmt.Sprintf("client%014d", as),
		Chance: chance.Seeded(chance.Hash(c.w.seed, chance.HashText("client"), as)),
	}
	if !c.w.tcp {
		hooks.Yield = c.gather
	}
	opts := []redlock.Option{
		seam.Client(hooks).(redlock.Option),
		redlock.WithClock(c.clock),
		redlock.WithMaxTTL(set.maxTTL),
		redlock.WithTTL(c.ttl()),
		redlock.WithGuard(set.guard),
		redlock.WithOutageWait(p.TTL),
		redlock.WithTrace(redlock.JoinTraces(
			&redlock.Trace{Attempt: c.attempted, Renewal: c.renewed, Lost: c.lost}, c.meddling())),
		redlock.WithLogger(c.logger()),
	}
	if set.guard == redlock.GuardStrict {
		opts = append(opts, redlock.WithClockError(p.ClockError))
	}
	if p.NoDrift {
		opts = append(opts, redlock.WithDrift(drift.Policy{}))
	}
	l, err := c.make(set.urls, opts, poolOpts, hooks)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.current, c.generation = l, c.generation+1
	return err
}

// make makes the redlock.Client. With SharePools, two clients use one pool.
func (c *client) make(
	urls []string, opts []redlock.Option, poolOpts []pool.Option, hooks seam.Hooks,
) (l *redlock.Client, err error) {
	if !c.w.p.SharePools {
		return redlock.Open(urls, append(opts, redlock.WithPool(poolOpts...))...)
	}
	owner := c
	if c.index%2 == 1 {
		owner = c.w.clients[c.index-1]
	}
	if owner.pool == nil {
		poolOpts = append(poolOpts, seam.Pool(hooks).(pool.Option), pool.WithLogger(c.logger()))
		if owner.pool, err = pool.New(urls, poolOpts...); err != nil {
			return nil, err
		}
	}
	return redlock.New(owner.pool, opts...)
}

func (c *client) ttl() time.Duration {
	if c.w.p.Settings != 0 {
		return c.set.maxTTL
	}
	if c.w.p.Mixed && c.index%2 == 1 {
		return c.w.p.MaxTTL
	}
	return c.w.p.TTL
}

// shut closes the redlock.Client, and counts its fencing raises.
func (c *client) shut() {
	c.mu.Lock()
	l := c.current
	c.current = nil
	c.mu.Unlock()
	if l == nil {
		return
	}
	c.w.net.count(func(s *Stats) { s.Raised += int(l.Stats().FencingRaises) })
	_ = l.Close()
}

// gather delays a flush by Gather or longer, so that commands to the master gather. Without
// Gather it waits until all goroutines have done their work of this instant. No two connections
// have timers for one instant.
func (c *client) gather(master int) {
	if c.w.p.Gather == 0 {
		time.Sleep(time.Duration(1 + master))
		return
	}
	c.w.sleep(c.w.flushLane(c.index, master), c.w.p.Gather)
}

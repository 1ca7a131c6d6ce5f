package integration

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

const permits = 3

// A permitStorm makes clients acquire permits of one semaphore, and records who held one when.
type permitStorm struct {
	p     *processes
	start time.Time

	mu    sync.Mutex // guards what follows
	holds []permitHold
}

// A permitHold is the time during which a holder relied on its permit.
type permitHold struct {
	key      string
	from, to time.Duration
}

// A stormClient is a client that is closed during its calls.
type stormClient struct {
	*redlock.Client
	mu     sync.Mutex
	closes time.Duration // when it was about to be closed; 0: it was not
}

// No more than three of three permits are held at a time, even if calls are cancelled, clients
// closed, and masters frozen and killed.
func TestAStormAdmitsNoMoreHoldersThanPermits(t *testing.T) {
	t.Parallel()
	const clients, callers, lasting = 4, 3, 12 * time.Second
	s := &permitStorm{p: startProcesses(t, five), start: time.Now()}
	ctx, cancel := context.WithTimeout(t.Context(), lasting)
	defer cancel()
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			for ctx.Err() == nil { // each client lives for a while
				c, err := redlock.Open(s.p.urls, redlock.WithTTL(time.Second), redlock.WithMaxTTL(time.Second), redlock.WithLogger(nil))
				if err != nil {
					t.Error(err)
					return
				}
				s.live(ctx, &stormClient{Client: c}, callers)
			}
		})
	}
	all.Go(func() { s.trouble(ctx) })
	all.Wait()

	most := 0
	slices.SortFunc(s.holds, func(a, b permitHold) int { return cmp.Compare(a.from, b.from) })
	var open []permitHold
	for _, h := range s.holds {
		open = slices.DeleteFunc(open, func(o permitHold) bool { return o.to <= h.from })
		for _, o := range open {
			if o.key == h.key {
				t.Errorf("two held %s: from %v to %v, and from %v to %v", h.key, o.from, o.to, h.from, h.to)
			}
		}
		if open = append(open, h); len(open) > permits {
			t.Errorf("%d held a permit at %v: %v", len(open), h.from, open)
		}
		most = max(most, len(open))
	}
	t.Logf("%d permits were granted, up to %d at a time", len(s.holds), most)
	if len(s.holds) < 50 || most < permits {
		t.Errorf("%d permits, up to %d at a time: too few to tell anything", len(s.holds), most)
	}
}

// live lets a client work for a while, and closes it during its calls.
func (s *permitStorm) live(ctx context.Context, c *stormClient, callers int) {
	ctx, cancel := context.WithTimeout(ctx, 500*time.Millisecond+rand.N(3*time.Second))
	defer cancel()
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for ctx.Err() == nil {
				s.turn(ctx, c)
			}
		})
	}
	<-ctx.Done()
	c.mu.Lock()
	c.closes = time.Since(s.start)
	c.mu.Unlock()
	_ = c.Close()
	all.Wait()
}

// turn acquires a permit, if it can, and holds it for a moment. Now and then that is longer than
// the permit is valid without a renewal.
func (s *permitStorm) turn(ctx context.Context, c *stormClient) {
	patience := 2 * time.Second
	if rand.N(3) == 0 {
		patience = rand.N(20 * time.Millisecond)
	}
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	semaphore := c.Semaphore("permit", permits)
	acquire := semaphore.Acquire
	if rand.N(4) == 0 {
		acquire = semaphore.TryAcquire
	}
	l, err := acquire(call)
	if err != nil {
		time.Sleep(rand.N(5 * time.Millisecond))
		return
	}
	h := permitHold{key: l.Key(), from: time.Since(s.start)}
	h.to = h.from + l.Remaining()
	length := rand.N(40 * time.Millisecond)
	if rand.N(20) == 0 {
		length = rand.N(1500 * time.Millisecond)
	}
	time.Sleep(length)
	if now := time.Since(s.start); l.Remaining() > 0 {
		h.to = now
	}
	c.mu.Lock()
	if c.closes > 0 { // from then on its lock may be over
		h.to = min(h.to, max(h.from, c.closes))
	}
	c.mu.Unlock()
	s.mu.Lock()
	if h.to > h.from {
		s.holds = append(s.holds, h)
	}
	s.mu.Unlock()
	_ = l.Unlock(context.WithoutCancel(ctx))
}

// trouble freezes one master and kills another, again and again. The killed one comes back empty.
func (s *permitStorm) trouble(ctx context.Context) {
	for i := 0; ctx.Err() == nil; i++ {
		frozen, killed := i%five, (i+2)%five
		s.p.freeze(frozen)
		s.p.kill(killed)
		time.Sleep(rand.N(400 * time.Millisecond))
		s.p.thaw(frozen)
		s.p.restart(killed)
		time.Sleep(1200*time.Millisecond + rand.N(200*time.Millisecond)) // until it votes again
	}
}

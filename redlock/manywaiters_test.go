package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// manyWaiters are ways to wait for the key "hot" in many calls of one client. keys is for how
// many keys a client may look at the same time.
var manyWaiters = map[string]struct {
	keys int
	lock func(c *redlock.Client, ctx context.Context, i int) (*redlock.Lock, error)
}{
	"Lock": {1, func(c *redlock.Client, ctx context.Context, _ int) (*redlock.Lock, error) { return c.Lock(ctx, "hot") }},
	"RWMutex.Lock": {1, func(c *redlock.Client, ctx context.Context, _ int) (*redlock.Lock, error) {
		return c.RWMutex("hot").Lock(ctx)
	}},
	"RLock": {1, func(c *redlock.Client, ctx context.Context, _ int) (*redlock.Lock, error) {
		return c.RWMutex("hot").RLock(ctx)
	}},
	"readers and writers": {2, func(c *redlock.Client, ctx context.Context, i int) (*redlock.Lock, error) {
		if i%2 == 0 {
			return c.RWMutex("hot").RLock(ctx)
		}
		return c.RWMutex("hot").Lock(ctx)
	}},
	"LockAll of the same set": {1, func(c *redlock.Client, ctx context.Context, _ int) (*redlock.Lock, error) {
		return c.LockAll(ctx, []string{"a", "hot"})
	}},
	"LockAll of different sets": {1, func(c *redlock.Client, ctx context.Context, i int) (*redlock.Lock, error) {
		return c.LockAll(ctx, []string{fmt.Sprint("own", i), "hot"})
	}},
	"LockAny of the same keys": {3, func(c *redlock.Client, ctx context.Context, _ int) (*redlock.Lock, error) {
		return c.LockAny(ctx, []string{"hot", "slot0", "slot1"})
	}},
	"LockAny of different keys": {6, func(c *redlock.Client, ctx context.Context, i int) (*redlock.Lock, error) {
		return c.LockAny(ctx, []string{"hot", fmt.Sprint("slot", i%5), fmt.Sprint("slot", i/5%5)})
	}},
	"all of them": {6, func(c *redlock.Client, ctx context.Context, i int) (*redlock.Lock, error) {
		switch i % 5 {
		case 0:
			return c.Lock(ctx, "hot")
		case 1:
			return c.RWMutex("hot").RLock(ctx)
		case 2:
			return c.LockAll(ctx, []string{fmt.Sprint("own", i), "hot"})
		case 3:
			return c.LockAny(ctx, []string{"hot", fmt.Sprint("slot", i%5), fmt.Sprint("slot", i/5%5)})
		default:
			return c.RWMutex("hot").Lock(ctx)
		}
	}},
}

// Whatever they want, of the calls of a client that wait for a key only one asks the masters;
// of those that want to read it one more.
func TestAClientLooksOnceForEachKeyHoweverManyOfItsCallsWait(t *testing.T) {
	const waiters, seconds = 2000, 20 // of virtual time
	for name, way := range manyWaiters {
		t.Run(name, func(t *testing.T) {
			inUnguardedSim(t, 5, func(t *testing.T, s *sim) {
				s.T = t
				held := s.must(s.open().LockAll(t.Context(), []string{"hot", "slot0", "slot1", "slot2", "slot3", "slot4"}, redlock.WithLease(time.Minute)))
				c := s.open()
				ctx, cancel := context.WithCancel(t.Context())
				var wg sync.WaitGroup
				wait := func(i int) {
					wg.Go(func() {
						_, err := way.lock(c, ctx, i)
						if !errors.Is(err, context.Canceled) {
							t.Errorf("number %d: %v", i, err)
						}
					})
				}
				for i := range 25 { // whoever finds nobody waiting makes an attempt
					wait(i)
					settle()
				}
				before := s.asked()
				for i := 25; i < waiters; i++ {
					wait(i)
				}
				settle()
				if asked := s.asked() - before; asked > 5*5*10 {
					t.Errorf("calls that found others waiting sent %d commands", asked)
				}
				if n := c.Stats().Waiting; n != waiters {
					t.Fatalf("%d calls wait", n)
				}
				before = s.asked()
				time.Sleep(seconds * time.Second)
				// A look takes 150 ms on average. Every fourth is an attempt, which is rolled
				// back and asks who holds the key, at five masters.
				asked := float64(s.asked()-before) / seconds
				if most := float64(way.keys) * (1 + 5*3) / 4 / .150 * 1.5; asked > most {
					t.Errorf("%.0f commands a second, want %.0f at the most", asked, most)
				}
				t.Logf("%.1f commands a second", asked)
				cancel()
				wg.Wait()
				unlock(t, held)
				s.wantClean()
			})
		})
	}
}

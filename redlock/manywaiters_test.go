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

// manyWaiters are ways to wait for the key "hot" in many calls of one client. keys is for how many
// keys a client may look at once, writers how many of these may keep readers out.
var manyWaiters = map[string]struct {
	keys, writers int
	lock          func(c *redlock.Client, ctx context.Context, i int) (*redlock.Lock, error)
}{
	"Lock": {1, 0, func(c *redlock.Client, ctx context.Context, _ int) (*redlock.Lock, error) { return c.Lock(ctx, "hot") }},
	"RWMutex.Lock": {1, 1, func(c *redlock.Client, ctx context.Context, _ int) (*redlock.Lock, error) {
		return c.RWMutex("hot").Lock(ctx)
	}},
	"RLock": {1, 0, func(c *redlock.Client, ctx context.Context, _ int) (*redlock.Lock, error) {
		return c.RWMutex("hot").RLock(ctx)
	}},
	"readers and writers": {2, 1, func(c *redlock.Client, ctx context.Context, i int) (*redlock.Lock, error) {
		if i%2 == 0 {
			return c.RWMutex("hot").RLock(ctx)
		}
		return c.RWMutex("hot").Lock(ctx)
	}},
	"LockAll of the same set": {1, 0, func(c *redlock.Client, ctx context.Context, _ int) (*redlock.Lock, error) {
		return c.LockAll(ctx, []string{"a", "hot"})
	}},
	"LockAll of different sets": {1, 0, func(c *redlock.Client, ctx context.Context, i int) (*redlock.Lock, error) {
		return c.LockAll(ctx, []string{fmt.Sprint("own", i), "hot"})
	}},
	"LockAny of the same keys": {3, 0, func(c *redlock.Client, ctx context.Context, i int) (*redlock.Lock, error) {
		return lockAnyBehind(ctx, c, i, hotKeys[:3], hotKeys[:3])
	}},
	"LockAny of different keys": {6, 0, func(c *redlock.Client, ctx context.Context, i int) (*redlock.Lock, error) {
		return lockAnyBehind(ctx, c, i, hotKeys, []string{hotKeys[i%len(hotKeys)], fmt.Sprint("slot", i%5), fmt.Sprint("slot", i/5%5)})
	}},
	"all of them": {6, 1, func(c *redlock.Client, ctx context.Context, i int) (*redlock.Lock, error) {
		switch i % 5 {
		case 0:
			return c.Lock(ctx, hotKeys[i/5%len(hotKeys)])
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

var hotKeys = []string{"hot", "slot0", "slot1", "slot2", "slot3", "slot4"}

// lockAnyBehind makes the first calls wait for one key each, because a call for one of several keys
// looks at keys for which nobody waits.
func lockAnyBehind(ctx context.Context, c *redlock.Client, i int, all, keys []string) (*redlock.Lock, error) {
	if i < len(all) {
		return c.Lock(ctx, all[i])
	}
	return c.LockAny(ctx, keys)
}

// A holder that renews moves its expiry again and again. Waiters ask no more often because of it.
func TestCallsThatWaitForARenewedLockAskFourTimesASecondAtTheMost(t *testing.T) {
	inUnguardedSim(t, 5, func(t *testing.T, s *sim) {
		const minute = time.Minute
		held := mustLock(t, s.open(), "hot", redlock.WithTTL(3*time.Second))
		renewals := s.questions(minute)
		c := s.open()
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				if _, err := c.Lock(ctx, "hot"); !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			})
		}
		settle()
		asked := s.questions(minute) - renewals
		if asked <= 0 || asked > 4 {
			t.Errorf("%.1f commands a second, want 4 at the most", asked)
		}
		t.Logf("%.1f commands a second beside %.1f of the holder", asked, renewals)
		cancel()
		wg.Wait()
		unlock(t, held)
	})
}

// Only one of a client's calls that wait for a key asks the masters, and one more if calls want to
// read it. While a client of this library holds the key, that is at most four commands a second, and
// one more for each master if a writer keeps readers out.
func TestAClientLooksOnceForEachKeyHoweverManyOfItsCallsWait(t *testing.T) {
	const waiters, seconds = 2000, 20 // of virtual time
	for name, way := range manyWaiters {
		t.Run(name, func(t *testing.T) {
			inUnguardedSim(t, 5, func(t *testing.T, s *sim) {
				s.T = t
				held := s.must(s.open().LockAll(t.Context(), hotKeys, redlock.WithLease(time.Minute)))
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
				for i := range 30 { // a call that finds nobody waiting makes an attempt
					wait(i)
					settle()
				}
				before := s.asked()
				for i := 30; i < waiters; i++ {
					wait(i)
				}
				settle()
				if asked := s.asked() - before; asked > 5*5*10 {
					t.Errorf("calls that found others waiting sent %d commands", asked)
				}
				if n := c.Stats().Waiting; n != waiters {
					t.Fatalf("%d calls wait", n)
				}
				time.Sleep(4 * time.Second) // the pauses between looks have grown
				asked := s.questions(seconds * time.Second)
				if most := float64(way.keys)*4 + float64(way.writers)*5; asked > most {
					t.Errorf("%.1f commands a second, want %.0f at the most", asked, most)
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

package redlock_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

// A program that has locked and unlocked before the farthest master was reached has nothing to
// release there.
func TestCloseDoesNotWaitForAMasterThatWasNeverReached(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		s.open() // declares the fleet
		const far = 200 * time.Millisecond
		c := s.openCold(s.URLs(), redlock.WithPool(pool.WithDialer(
			func(ctx context.Context, network, addr string) (net.Conn, error) {
				if addr == s.All[4].Addr() {
					select {
					case <-time.After(far):
					case <-ctx.Done():
						return nil, ctx.Err()
					}
				}
				return s.dial(ctx, network, addr)
			})))
		began := time.Now()
		unlock(t, mustLock(t, c, "key"))
		held := mustLock(t, c, "held")
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if d := time.Since(began); d >= far {
			t.Errorf("it took %v, as long as the farthest master", d)
		}
		if held.Context().Err() == nil {
			t.Error("a lock outlives its client")
		}
		time.Sleep(2 * far)
		s.wantClean()
	})
}

// farthest is how long a request takes to the farthest master.
const farthest = 200 * time.Millisecond

func TestCloseWaitsForTheAnswersOfAllMasters(t *testing.T) {
	for name, use := range map[string]func(t *testing.T, s *sim, c *redlock.Client){
		"a lock that was unlocked": func(t *testing.T, _ *sim, c *redlock.Client) {
			l := mustLock(t, c, "key")
			time.Sleep(2 * farthest) // every master has it
			unlock(t, l)
		},
		"locks that are held": func(t *testing.T, _ *sim, c *redlock.Client) {
			for _, key := range []string{"a", "b", "c"} {
				mustLock(t, c, key)
			}
			time.Sleep(2 * farthest)
		},
		"an attempt that was rolled back": func(t *testing.T, s *sim, c *redlock.Client) {
			for _, i := range []int{0, 1, 2} {
				s.Ask(i, "SET", "key", "another's", "PX", "60000")
			}
			if _, err := c.TryLock(t.Context(), "key"); err == nil {
				t.Error("it is taken")
			}
			s.do("DEL", "key")
		},
		"a read lock and a set": func(t *testing.T, _ *sim, c *redlock.Client) {
			if _, err := c.RWMutex("key").RLock(t.Context()); err != nil {
				t.Error(err)
			}
			if _, err := c.LockAll(t.Context(), []string{"a", "b"}); err != nil {
				t.Error(err)
			}
			time.Sleep(2 * farthest)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inSim(t, 5, func(t *testing.T, s *sim) {
				s.placeAway(func(i int) time.Duration {
					if i == 4 {
						return farthest
					}
					return away
				})
				c := s.openReady()
				time.Sleep(10 * farthest)
				use(t, s, c)
				began := time.Now()
				_ = c.Close()
				if took := time.Since(began); took < farthest-away || took > farthest {
					t.Errorf("Close took %v, want %v, less what has passed of it", took, farthest)
				}
				s.wantClean()
			})
		})
	}
}

// The unlock has the time that its own TTL allows, also if that is more than the client's.
func TestCloseWaitsForAnUnlockThatIsUnderWay(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		var by atomic.Int64
		s.placeAway(func(int) time.Duration { return time.Duration(by.Load()) })
		c := s.open(redlock.WithTTL(time.Second))
		l := s.must(c.Lock(t.Context(), "key", redlock.WithTTL(5*time.Second)))
		by.Store(int64(100 * time.Millisecond))
		unlocked := make(chan error, 1)
		go func() { unlocked <- l.Unlock(t.Context()) }()
		synctest.Wait()
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if err := <-unlocked; err != nil {
			t.Error(err)
		}
		s.wantClean()
	})
}

// A trace delays a call for as long as it runs, but it does not delay Close.
func TestCloseDoesNotWaitForATraceThatDoes(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open(redlock.WithTTL(time.Second), redlock.WithTrace(&redlock.Trace{Attempt: func(redlock.AttemptInfo) { time.Sleep(5 * time.Second) }}))
		other := s.must(s.open().Lock(t.Context(), "key"))
		waiting := make(chan error, 1)
		go func() {
			_, err := c.RWMutex("key").Lock(t.Context())
			waiting <- err
		}()
		time.Sleep(10 * time.Millisecond)
		within(t, time.Second, func() { _ = c.Close() })
		if err := <-waiting; !errors.Is(err, redlock.ErrClosed) {
			t.Errorf("the call: %v", err)
		}
		unlock(t, other)
	})
}

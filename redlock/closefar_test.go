package redlock_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

// A program that has locked and unlocked before the farthest master was reached has
// nothing there to give back.
func TestCloseDoesNotWaitForAMasterThatWasNeverReached(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		s.open() // declares the fleet
		const far = 200 * time.Millisecond
		c, err := redlock.Open(s.URLs(), redlock.WithPool(pool.WithDialer(
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
		if err != nil {
			t.Fatal(err)
		}
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

// inSimWithOneFarMaster is inSim with four masters that are away, and one that is much
// farther away. connected are clients that have reached all of them.
func inSimWithOneFarMaster(t *testing.T, test func(t *testing.T, s *sim, connected func() *redlock.Client)) {
	t.Helper()
	inSim(t, 5, func(t *testing.T, s *sim) {
		s.placeAway(func(i int) time.Duration {
			if i == 4 {
				return farthest
			}
			return away
		})
		test(t, s, func() *redlock.Client {
			c := s.openReady()
			time.Sleep(10 * farthest)
			return c
		})
	})
}

// farthest is how long a request takes to the farthest master.
const farthest = 200 * time.Millisecond

// closed fails where Close takes as long as the farthest master, or leaves a key.
func (s *sim) closed(c *redlock.Client) {
	s.T.Helper()
	began := time.Now()
	if err := c.Close(); err != nil {
		s.T.Error(err)
	}
	if took, most := time.Since(began), 2*away+15*time.Millisecond; took > most {
		s.T.Errorf("Close took %v, want at most %v", took, most)
	}
	time.Sleep(2 * farthest)
	s.wantClean()
}

func TestCloseDoesNotWaitForTheFarthestMaster(t *testing.T) {
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
			inSimWithOneFarMaster(t, func(t *testing.T, s *sim, connected func() *redlock.Client) {
				c := connected()
				use(t, s, c)
				s.closed(c)
			})
		})
	}
}

// What is still to be rolled back when Close begins is waited for.
func TestCloseDuringAttemptsLeavesNothing(t *testing.T) {
	inSimWithOneFarMaster(t, func(t *testing.T, s *sim, connected func() *redlock.Client) {
		for after := time.Duration(0); after < 4*away; after += away / 5 {
			c := connected()
			var wg sync.WaitGroup
			for _, key := range []string{"a", "b", "c", "d"} {
				wg.Go(func() {
					if _, err := c.Lock(t.Context(), key); err == nil {
						return // Close unlocks it
					}
				})
			}
			wg.Go(func() {
				if l, err := c.RWMutex("e").Lock(t.Context()); err == nil {
					_ = l
				}
			})
			time.Sleep(after)
			_ = c.Close()
			wg.Wait()
			time.Sleep(2 * farthest)
			s.wantClean()
		}
	})
}

// It has the time that its own TTL allows, also where that is more than the client's.
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

// A trace holds a call up for as long as it runs, and Close not.
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

// The near masters disagree, and have answered. The attempt waits for the farthest one, and
// is rolled back only when Close has ended it.
func TestCloseDuringAnAttemptThatIsNotDecidedLeavesNothing(t *testing.T) {
	inSimWithOneFarMaster(t, func(t *testing.T, s *sim, connected func() *redlock.Client) {
		for i := range 2 {
			s.Ask(i, "SET", "key", "another's", "PX", "60000")
		}
		c := connected()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			if _, err := c.TryLock(t.Context(), "key"); !errors.Is(err, redlock.ErrClosed) {
				t.Errorf("the attempt: %v", err)
			}
		}()
		time.Sleep(4 * away)
		_ = c.Close()
		<-ended
		time.Sleep(2 * farthest)
		for i := range 2 {
			s.Ask(i, "DEL", "key")
		}
		s.wantClean()
	})
}

// More than a master reads at once: answers to the first releases would be answered with a
// reset, and the master would drop the others.
func TestCloseWaitsForTheFarthestMasterWhereMuchIsOnItsWay(t *testing.T) {
	inSimWithOneFarMaster(t, func(t *testing.T, s *sim, connected func() *redlock.Client) {
		c := connected()
		for i := range 200 {
			mustLock(t, c, string(rune('a'+i%26))+time.Duration(i).String())
		}
		began := time.Now()
		_ = c.Close()
		if took := time.Since(began); took < farthest {
			t.Errorf("it took %v, want the %v of the farthest master", took, farthest)
		}
		s.wantClean()
	})
}

// Its answers come soon. And where a machine is busy, a pause is no proof that a near master
// has read everything.
func TestCloseWaitsForTheAnswersOfNearMasters(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		const near = 15 * time.Millisecond
		s.placeAway(func(i int) time.Duration {
			if i == 4 {
				return near
			}
			return away
		})
		c := s.openReady()
		time.Sleep(10 * near)
		mustLock(t, c, "key")
		time.Sleep(10 * near)
		began := time.Now()
		_ = c.Close()
		if took := time.Since(began); took < near {
			t.Errorf("Close took %v, want at least %v", took, near)
		}
		s.wantClean()
	})
}

package redlock_test

import (
	"sync"
	"testing"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

func TestLockWaitsForTheHolder(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		first := mustLock(t, s.open(), "key")
		c := s.open()
		var wg sync.WaitGroup
		wg.Go(func() {
			began := time.Now()
			l, err := c.Lock(t.Context(), "key")
			if err != nil {
				t.Error(err)
				return
			}
			if d := time.Since(began); d < time.Minute || d > time.Minute+250*time.Millisecond {
				t.Errorf("acquired after %v: want within a retry delay of the release after a minute", d)
			}
			if err := l.Unlock(t.Context()); err != nil {
				t.Error(err)
			}
		})
		time.Sleep(time.Minute)
		if err := first.Unlock(t.Context()); err != nil {
			t.Error(err)
		}
		wg.Wait()
		s.wantClean()
	})
}

// A holder that crashed is waited for until its key expires, and not much
// longer.
func TestTheNextOneIsInSoonAfterACrashedHoldersKeyExpires(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		for _, m := range s.masters {
			_ = m.Set("key", "crashed", 5*time.Second)
		}
		began := time.Now()
		l := mustLock(t, s.open(), "key")
		if d := time.Since(began); d < 5*time.Second || d > 5*time.Second+250*time.Millisecond {
			t.Errorf("acquired after %v", d)
		}
		_ = l.Unlock(t.Context())
	})
}

func TestAnOutageIsReportedNotWaitedOut(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open()
		s.kill(0, 1, 2)
		var err error
		took := within(t, 4100*time.Millisecond, func() { _, err = c.Lock(t.Context(), "key") })
		wantExactly(t, err, redlock.ErrNoQuorum)
		if took < 3*time.Second {
			t.Errorf("gave up after %v: want 3s", took)
		}
		c2 := s.open(redlock.WithOutageWait(0))
		within(t, 0, func() { _, err = c2.Lock(t.Context(), "key") })
		wantExactly(t, err, redlock.ErrNoQuorum)
		s.restart(true, 0, 1, 2)
		s.wantClean()
	})
}

func TestAShortOutageIsSurvived(t *testing.T) {
	inUnguardedSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open()
		s.kill(0, 1, 2)
		var wg sync.WaitGroup
		wg.Go(func() {
			l, err := c.Lock(t.Context(), "key")
			if err != nil {
				t.Error(err)
				return
			}
			_ = l.Unlock(t.Context())
		})
		time.Sleep(time.Second)
		s.restart(true, 2)
		wg.Wait()
	})
}

func TestTriesBoundAttemptsOfEitherKind(t *testing.T) {
	for name, prepare := range map[string]func(s *sim) error{
		"taken": func(s *sim) error {
			for _, m := range s.masters {
				_ = m.Set("key", "other", time.Hour)
			}
			return redlock.ErrTaken
		},
		"no quorum": func(s *sim) error { s.kill(0, 1, 2); return redlock.ErrNoQuorum },
	} {
		t.Run(name, func(t *testing.T) {
			inSim(t, 5, func(t *testing.T, s *sim) {
				attempts, waits := 0, 0
				c := s.open(redlock.WithOutageWait(0), redlock.WithTrace(&redlock.Trace{
					Attempt: func(redlock.AttemptInfo) { attempts++ },
					Wait:    func(i redlock.WaitInfo) { waits = i.Attempts },
				}))
				kind := prepare(s)
				_, err := c.Lock(t.Context(), "key", redlock.WithTries(4), redlock.WithBackoff(func(n int) time.Duration {
					if n != attempts {
						t.Errorf("backoff is asked about attempt %d after %d", n, attempts)
					}
					return time.Second
				}))
				wantExactly(t, err, kind)
				if attempts != 4 || waits != 4 {
					t.Errorf("%d attempts, %d reported", attempts, waits)
				}
			})
		})
	}
}

func TestTheDefaultDelayIsRandomBetween50And250Milliseconds(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		seen := make(map[time.Duration]bool)
		c := s.open(redlock.WithTrace(&redlock.Trace{Retry: func(i redlock.RetryInfo) {
			seen[i.Delay] = true
			if i.Delay < 50*time.Millisecond || i.Delay >= 250*time.Millisecond {
				t.Errorf("delay %v", i.Delay)
			}
		}}))
		mustLock(t, s.open(), "key")
		_, err := c.Lock(t.Context(), "key", redlock.WithTries(50))
		wantExactly(t, err, redlock.ErrTaken)
		if len(seen) < 40 {
			t.Errorf("only %d different delays of 49", len(seen))
		}
	})
}

// Many clients, one key, faults while they contend: the whole point.
func TestNoTwoClientsAreEverInsideTogether(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		var mu sync.Mutex
		inside, entered := 0, 0
		var wg sync.WaitGroup
		for range 8 {
			c := s.open(redlock.WithTTL(time.Second))
			wg.Go(func() {
				for range 10 {
					l, err := c.Lock(t.Context(), "key")
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					inside++
					entered++
					if inside != 1 {
						t.Errorf("%d inside", inside)
					}
					mu.Unlock()
					time.Sleep(20 * time.Millisecond)
					mu.Lock()
					if l.Remaining() == 0 {
						t.Error("lost with a majority up all the time")
					}
					inside--
					mu.Unlock()
					if err := l.Unlock(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		}
		withFaults(s, wg.Wait)
		if entered != 80 {
			t.Errorf("entered %d times: want 80", entered)
		}
	})
}

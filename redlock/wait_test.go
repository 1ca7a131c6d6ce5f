package redlock_test

import (
	"slices"
	"testing"
	"time"

	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/redlock"
)

// A call waits for a crashed holder until its key expires, and not much longer, also if it polls.
func TestTheNextOneIsInSoonAfterACrashedHoldersKeyExpires(t *testing.T) {
	inCleanSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open()
		const ttl = 600 * time.Millisecond
		calls := [][]redlock.LockOption{nil, {redlock.WithTries(100)}}
		calls = append(calls, slices.Repeat(calls[1:], 10)...) // one polling call may be on time by chance
		for _, opts := range calls {
			began := time.Now()
			s.do("SET", "key", "crashed", "PX", ttl.Milliseconds())
			l, err := c.Lock(t.Context(), "key", opts...)
			if err != nil {
				t.Fatal(err)
			}
			if d := time.Since(began); d < ttl-3*time.Millisecond || d > ttl+10*time.Millisecond {
				t.Errorf("acquired after %v", d)
			}
			unlock(t, l)
			s.wantFree("key")
		}
	})
}

// A waiter for a quorum is woken, and the masters are dialled while anybody waits. So the lock is
// acquired soon after an outage of any length.
func TestALockIsHadSoonAfterAnOutage(t *testing.T) {
	inUnguardedSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open(redlock.WithOutageWait(3 * time.Second))
		for _, opts := range [][]redlock.LockOption{nil, {redlock.WithTries(100)}} {
			for outage := 300 * time.Millisecond; outage <= 2900*time.Millisecond; outage += 200 * time.Millisecond {
				s.Kill(0, 1, 2)
				began := time.Now()
				time.AfterFunc(outage, func() { s.Restart(true, 0, 1, 2) })
				l, err := c.Lock(t.Context(), "key", opts...)
				if err != nil {
					t.Errorf("an outage of %v: %v", outage, err)
					continue
				}
				if late := time.Since(began) - outage; late < 0 || late > 200*time.Millisecond {
					t.Errorf("an outage of %v: the lock is there %v after it", outage, late)
				}
				unlock(t, l)
				time.Sleep(2 * time.Second)
			}
		}
	})
}

// The end of a quarantine is the end of an outage if it gives a quorum.
func TestALockIsHadSoonAfterAQuarantine(t *testing.T) {
	for name, opts := range map[string][]redlock.LockOption{"waiting": nil, "polling": {redlock.WithTries(1000)}} {
		t.Run(name, func(t *testing.T) {
			inSim(t, 5, func(t *testing.T, s *sim) {
				c := s.guarded(redlock.WithOutageWait(time.Minute))
				wantStandings(t, c, votes, votes, votes, votes, votes)
				s.Restart(true, 0, 1, 2)
				began := time.Now()
				had := make(chan time.Time, 1)
				go func() {
					l, err := c.Lock(t.Context(), "key", opts...)
					at := time.Now()
					if err != nil {
						t.Error(err)
					} else {
						unlock(t, l)
					}
					had <- at // after this the client is closed
				}()
				time.Sleep(time.Second)
				why := c.Masters()[2].Why
				if why == nil || why.Cause != guard.Quarantined {
					t.Fatalf("a master that was restarted: %v", why)
				}
				at := <-had
				if at.Sub(began) < quarantine() || at.Sub(why.Until) > 200*time.Millisecond {
					t.Errorf("the lock is there after %v, %v after a quorum may vote", at.Sub(began), at.Sub(why.Until))
				}
			})
		})
	}
}

func TestTriesBoundAttemptsOfEitherKind(t *testing.T) {
	for name, prepare := range map[string]func(s *sim) error{
		"taken": func(s *sim) error {
			for _, m := range s.All {
				_ = m.Set("key", "other", time.Hour)
			}
			return redlock.ErrTaken
		},
		"no quorum": func(s *sim) error { s.Kill(0, 1, 2); return redlock.ErrNoQuorum },
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
		c := s.open(redlock.WithTrace(&redlock.Trace{Retry: func(i redlock.AttemptInfo) {
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

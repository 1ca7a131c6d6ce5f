package redlock_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

// setOn sets a key on some masters, with a TTL.
func (s *sim) setOn(key, value string, ttl time.Duration, which ...int) {
	s.T.Helper()
	for _, i := range which {
		if err := s.All[i].Set(key, value, ttl); err != nil {
			s.T.Fatal(err)
		}
	}
}

// A call that does not wait repeats its attempt if the votes were split and nobody can have the
// lock. Traces and results count the repetitions as one attempt.
func TestTryLockRetriesAfterASplitVote(t *testing.T) {
	const before = 3 * away // others roll back after this; the attempt and the question for the holder take less
	for name, test := range map[string]struct {
		prepare func(s *sim)
		opts    []redlock.LockOption
		again   bool
	}{
		"two and two": {func(s *sim) { s.setOn("key", "one", before, 0, 1); s.setOn("key", "two", before, 2, 3) }, nil, true},
		"two, one and one": {func(s *sim) {
			s.setOn("key", "one", before, 0, 1)
			s.setOn("key", "two", before, 2)
			s.setOn("key", "three", before, 3)
		}, nil, true},
		"three of one": {func(s *sim) { s.setOn("key", "one", before, 0, 1, 2) }, nil, false},
		"two of one, and one is silent": {func(s *sim) {
			s.setOn("key", "one", before, 0, 1)
			s.setOn("key", "two", before, 2)
			s.Freeze(3)
		}, nil, false},
		"two and two, of one that has said how often to try": {
			func(s *sim) { s.setOn("key", "one", before, 0, 1); s.setOn("key", "two", before, 2, 3) }, []redlock.LockOption{redlock.WithTries(1)}, false,
		},
		"two and two, of one that has said when to try": {
			func(s *sim) { s.setOn("key", "one", before, 0, 1); s.setOn("key", "two", before, 2, 3) },
			[]redlock.LockOption{redlock.WithBackoff(func(int) time.Duration { return 0 })}, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			inUnguardedFarSim(t, 5, func(t *testing.T, s *sim) {
				var attempts []int
				nodes := 0
				c := s.openReady(redlock.WithTrace(&redlock.Trace{
					Attempt: func(i redlock.AttemptInfo) { attempts = append(attempts, i.Attempt) },
					Node:    func(redlock.NodeInfo) { nodes++ },
				}))
				test.prepare(s)
				l, err := c.TryLock(t.Context(), "key", test.opts...)
				if (err == nil) != test.again {
					t.Errorf("made again: %v, want %v (%v)", err == nil, test.again, err)
				}
				if fmt.Sprint(attempts) != "[1]" || nodes != 5 {
					t.Errorf("told as attempts %v, with %d parts of masters", attempts, nodes)
				}
				s.Thaw(3)
				time.Sleep(time.Second)
				if l != nil {
					unlock(t, l)
				}
				time.Sleep(time.Second)
				s.wantClean()
			})
		})
	}
}

// If several clients try a free key at one moment, one of them gets it, however the votes split.
func TestOneOfSeveralSimultaneousTryLocksSucceeds(t *testing.T) {
	const clients, rounds = 5, 40
	inUnguardedSim(t, 5, func(t *testing.T, s *sim) {
		all := make([]*redlock.Client, clients)
		for k := range all { // each client has another nearest master
			at := k
			far := &sim{Bubble: s.Bubble, opts: s.opts}
			far.placeAway(func(i int) time.Duration { return time.Duration(10+(i+at)%clients) * 100 * time.Microsecond })
			all[k] = far.openReady()
		}
		nobody := 0
		for i := range rounds {
			var wg sync.WaitGroup
			var mu sync.Mutex
			got := 0
			for _, c := range all {
				wg.Go(func() {
					err := c.TryDo(t.Context(), fmt.Sprint("job", i), func(context.Context) error {
						mu.Lock()
						got++
						mu.Unlock()
						time.Sleep(50 * time.Millisecond)
						return nil
					})
					if err != nil {
						wantExactly(t, err, redlock.ErrTaken)
					}
				})
			}
			wg.Wait()
			if got == 0 {
				nobody++
			}
			time.Sleep(50 * time.Millisecond)
		}
		if nobody > 0 {
			t.Errorf("nobody ran in %d of %d rounds", nobody, rounds)
		}
		s.wantClean()
	})
}

// A loop of TryLock does not overtake waiters.
func TestALoopOfTryLockDoesNotOvertakeWaiters(t *testing.T) {
	inUnguardedFarSim(t, 5, func(t *testing.T, s *sim) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		var wg sync.WaitGroup
		var mu sync.Mutex
		loops, turns := 0, 0
		hold := func(l *redlock.Lock, n *int) {
			mu.Lock()
			*n++
			mu.Unlock()
			time.Sleep(10 * time.Millisecond)
			_ = l.Unlock(t.Context())
		}
		for range 3 {
			c := s.openReady()
			wg.Go(func() {
				for ctx.Err() == nil {
					if l, err := c.Lock(ctx, "key"); err == nil {
						hold(l, &turns)
					}
				}
			})
		}
		c := s.openReady()
		wg.Go(func() {
			for ctx.Err() == nil {
				if l, err := c.TryLock(ctx, "key"); err == nil {
					hold(l, &loops)
				}
				time.Sleep(time.Millisecond)
			}
		})
		wg.Wait()
		if t.Logf("the loop had %d turns, three that wait had %d", loops, turns); loops*10 > turns+loops || turns < 50 {
			t.Errorf("the loop had %d turns, three that wait had %d", loops, turns)
		}
	})
}

// TryLock does not overtake calls of its own client. Its error has what the pilot says, and reports
// an outage as an outage.
func TestTryLockDoesNotOvertakeWaitersOfItsClient(t *testing.T) {
	inUnguardedSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open()
		held := mustLock(t, s.open(), "key", redlock.WithOwner("somebody"))
		q := s.queue(c, "key")
		time.AfterFunc(time.Minute, q.cancel)
		time.Sleep(10 * time.Second)
		before := s.asked()
		_, err := c.TryLock(t.Context(), "key")
		wantExactly(t, err, redlock.ErrTaken)
		if text := err.Error(); !strings.Contains(text, `held by "somebody"`) || !strings.Contains(text, "others of this client wait for it") || s.asked() != before+1 {
			t.Errorf("%d commands: %v", s.asked()-before, err)
		}
		s.do("DEL", "key") // this calls nobody
		_, err = c.TryLock(t.Context(), "key")
		wantExactly(t, err, redlock.ErrTaken)
		unlock(t, q.mustHave(t))
		_ = held.Unlock(t.Context())

		held = mustLock(t, s.open(), "key")
		q = s.queue(c, "key")
		s.Kill(0, 1, 2)
		_, err = c.TryLock(t.Context(), "key")
		wantExactly(t, err, redlock.ErrNoQuorum)
		<-q.done
		_ = held.Unlock(t.Context())
	})
}

// five keys: calls lock one of them, all as a set, or any of them, with and without waiting.
var five = []string{"key", "other", "third", "fourth", "fifth"}

// tries are all calls that do not wait.
func tries() map[string]func(c *redlock.Client, ctx context.Context, opts ...redlock.LockOption) error {
	calls := map[string]func(c *redlock.Client, ctx context.Context, opts ...redlock.LockOption) error{
		"TryAcquire": func(c *redlock.Client, ctx context.Context, opts ...redlock.LockOption) error {
			_, err := c.Semaphore("key", 20).TryAcquire(ctx, opts...)
			return err
		},
		"Adopt": func(c *redlock.Client, ctx context.Context, opts ...redlock.LockOption) error {
			_, err := c.Adopt(ctx, "key", "a token that stands nowhere", opts...)
			return err
		},
		"TryDo": func(c *redlock.Client, ctx context.Context, opts ...redlock.LockOption) error {
			return c.TryDo(ctx, "key", func(context.Context) error { return nil }, opts...)
		},
	}
	for _, k := range append(kinds, slot) {
		calls["try "+k.name] = func(c *redlock.Client, ctx context.Context, opts ...redlock.LockOption) error {
			_, err := k.try(c, ctx, five, opts...)
			return err
		}
	}
	return calls
}

// A call that does not wait takes no longer than the masters' timeout, whatever it does.
func TestATryTakesTheMastersTimeoutAtTheMost(t *testing.T) {
	const timeout = 100 * time.Millisecond
	for name, try := range tries() {
		for situation, test := range map[string]struct {
			away    time.Duration // how far the masters are
			prepare func(s *sim, c *redlock.Client)
			fresh   bool // the masters were not judged before
		}{
			"three are frozen": {0, func(s *sim, _ *redlock.Client) { s.Freeze(0, 1, 2) }, false},
			"all are frozen":   {0, func(s *sim, _ *redlock.Client) { s.Freeze(0, 1, 2, 3, 4) }, false},
			"they are not judged yet, and three are frozen": {0, func(s *sim, _ *redlock.Client) { s.Freeze(0, 1, 2) }, true},
			"they are far, and a key of another type is there": {timeout * 3 / 5, func(s *sim, _ *redlock.Client) {
				for i := range 20 {
					s.do("HSET", fmt.Sprint("key#", i+1), "field", "value")
				}
				for _, key := range five {
					s.do("HSET", key, "field", "value")
				}
			}, false},
			"the key was contended, and all are frozen": {0, func(s *sim, c *redlock.Client) {
				held := mustLock(s.T, c, "key")
				q := s.queue(s.open(), "key")
				unlock(s.T, held)
				unlock(s.T, q.mustHave(s.T))
				s.Freeze(0, 1, 2, 3, 4)
			}, false},
		} {
			for _, opts := range [][]redlock.LockOption{nil, {redlock.WithFairness()}} {
				t.Run(fmt.Sprintf("%s, %s, options %d", name, situation, len(opts)), func(t *testing.T) {
					inSim(t, 5, func(t *testing.T, s *sim) {
						s.placeAway(func(int) time.Duration { return test.away })
						dialled := s.opts
						s.opts = append(s.opts, redlock.WithPool(pool.WithCommandTimeout(timeout)))
						if test.fresh {
							test.prepare(s, nil)
						}
						c := s.open()
						if !test.fresh {
							if err := c.Ready(t.Context()); err != nil {
								t.Fatal(err)
							}
							test.prepare(s, c)
						}
						s.opts = dialled
						within(t, timeout+soon, func() {
							if try(c, t.Context(), opts...) == nil {
								t.Error("it has the lock")
							}
						})
						s.Thaw(0, 1, 2, 3, 4)
						synctest.Wait()
					})
				})
			}
		}
	}
}

// A try whose votes were split asks the silent masters for a holder. It waits for them about as
// long as its attempt took, however long it waited before for masters to be judged.
func TestATryThatWaitedForVotersWaitsNoLongerForSilentMasters(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		s.open() // declares the fleet
		for i, token := range []string{"one", "one", "another"} {
			s.Ask(2+i, "SET", "key", token)
		}
		s.Freeze(0, 1, 2)
		c := s.open(redlock.WithPool(pool.WithCommandTimeout(10 * time.Second)))
		time.AfterFunc(time.Second, func() { s.Thaw(2) })
		within(t, time.Second+10*time.Millisecond, func() {
			_, err := c.TryLock(t.Context(), "key")
			wantExactly(t, err, redlock.ErrTaken)
		})
		s.Thaw(0, 1)
	})
}

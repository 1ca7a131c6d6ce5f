package redlock_test

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// mustBeWoken fails unless the lock is had without a timer.
func (q *queuer) mustBeWoken(t *testing.T, after func()) {
	t.Helper()
	within(t, soon, func() {
		after()
		if !q.has() {
			t.Fatal("not woken")
		}
	})
}

// sortsOfHolders hold "a" and "b".
var sortsOfHolders = map[string]func(s *sim, c *redlock.Client) []*redlock.Lock{
	"set": func(s *sim, c *redlock.Client) []*redlock.Lock {
		return []*redlock.Lock{s.must(c.LockAll(s.T.Context(), ab))}
	},
	"two": func(s *sim, c *redlock.Client) []*redlock.Lock {
		return []*redlock.Lock{mustLock(s.T, c, "b"), mustLock(s.T, c, "a")}
	},
	"slots": func(s *sim, c *redlock.Client) []*redlock.Lock {
		return []*redlock.Lock{s.must(c.LockAny(s.T.Context(), ab)), s.must(c.LockAny(s.T.Context(), ab))}
	},
}

// onEachLevel runs a test with clients whose locks are acquired by different scripts.
func onEachLevel(t *testing.T, test func(t *testing.T, s *sim)) {
	t.Helper()
	for level, opts := range levels {
		t.Run(level, func(t *testing.T) {
			inSim(t, 5, func(t *testing.T, s *sim) {
				s.T, s.opts = t, append(s.opts, opts...)
				test(t, s)
			})
		})
	}
}

func TestEveryReleaseWakesEverySortOfWaiter(t *testing.T) {
	t.Parallel()
	for holder, hold := range sortsOfHolders {
		for _, k := range sorts {
			t.Run(k.name+" waits for "+holder, func(t *testing.T) {
				onEachLevel(t, func(t *testing.T, s *sim) {
					held := hold(s, s.open())
					q := k.waits(s, s.open())
					time.Sleep(time.Second)
					q.mustBeWoken(t, func() {
						for _, l := range held {
							unlock(t, l)
						}
					})
					unlock(t, q.lock)
					s.wantNoLocks()
				})
			})
		}
	}
}

// Also one of the same process, for which nothing is published.
func TestEveryReleaseWakesWhoWaitsInTheSameClient(t *testing.T) {
	for _, k := range sorts {
		t.Run(k.name, func(t *testing.T) {
			onEachLevel(t, func(t *testing.T, s *sim) {
				c := s.open()
				held := sortsOfHolders["set"](s, c)
				q := k.waits(s, c)
				time.Sleep(time.Second)
				q.mustBeWoken(t, func() { unlock(t, held[0]) })
				unlock(t, q.lock)
				s.wantNoLocks()
			})
		})
	}
}

func TestCancelledWaitersOfEverySortLeaveNoEntry(t *testing.T) {
	t.Parallel()
	for _, k := range sorts {
		t.Run(k.name, func(t *testing.T) {
			onEachLevel(t, func(t *testing.T, s *sim) {
				held := sortsOfHolders["set"](s, s.open())
				q, next := k.waits(s, s.open()), k.waits(s, s.open())
				time.Sleep(time.Second)
				within(t, soon, func() {
					q.cancel()
					<-q.done
				})
				wantExactly(t, q.err, redlock.ErrTaken, context.Canceled)
				next.mustBeWoken(t, func() { unlock(t, held[0]) })
				unlock(t, next.lock)
				s.wantNoLocks()
			})
		})
	}
}

// Who is cancelled in the moment in which it is told passes the turn on.
func TestATurnOfEverySortThatComesTooLateIsPassedOn(t *testing.T) {
	t.Parallel()
	for _, k := range sorts {
		t.Run(k.name, func(t *testing.T) {
			for round := range 4 {
				inSim(t, 5, func(t *testing.T, s *sim) {
					s.T = t
					held := sortsOfHolders["set"](s, s.open())
					first, second := k.waits(s, s.open()), k.waits(s, s.open())
					within(t, soon, func() {
						var wg sync.WaitGroup
						wg.Go(func() { _ = held[0].Unlock(t.Context()) })
						wg.Go(func() {
							for range round { // the order of the goroutines varies
								runtime.Gosched()
							}
							first.cancel()
						})
						wg.Wait()
						<-first.done
						if first.err == nil {
							unlock(t, first.lock)
						}
						second.mustHave(t)
					})
					unlock(t, second.lock)
					s.wantClean()
				})
			}
		})
	}
}

func TestCloseAndOutagesEndTheWaitingOfEverySort(t *testing.T) {
	t.Parallel()
	for _, k := range sorts {
		t.Run(k.name, func(t *testing.T) {
			inSim(t, 5, func(t *testing.T, s *sim) {
				s.T = t
				held := sortsOfHolders["set"](s, s.open())
				closing, out := s.open(), s.open()
				closed := []*queuer{k.waits(s, closing), k.waits(s, closing)}
				within(t, soon, func() {
					_ = closing.Close()
					for _, q := range closed {
						<-q.done
						wantExactly(t, q.err, redlock.ErrClosed)
					}
				})
				waiting := []*queuer{k.waits(s, out), k.waits(s, out), k.waits(s, out)}
				s.Kill(0, 1, 2)
				took := within(t, 6*time.Second, func() {
					for _, q := range waiting {
						<-q.done
						wantExactly(t, q.err, redlock.ErrNoQuorum)
					}
				})
				if took < 3*time.Second {
					t.Errorf("gave up after %v: want 3s", took)
				}
				_ = held[0].Unlock(t.Context())
			})
		})
	}
}

// Whoever holds a key may lock a further one, in an agreed order, while a set of
// both is waited for in the same process.
func TestASetThatWaitsDoesNotKeepItsProcessFromItsKeys(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open()
		a := mustLock(t, c, "a")
		set := all.waits(s, c)
		within(t, soon, func() { unlock(t, mustLock(t, c, "b")) })
		b := mustLock(t, s.open(), "b")
		further := s.queue(c, "b")
		further.mustBeWoken(t, func() { unlock(t, b) })
		unlock(t, further.lock)
		set.mustBeWoken(t, func() { unlock(t, a) })
		unlock(t, set.lock)
		s.wantClean()
	})
}

func TestASlotThatIsGivenBackWakesOneWaiter(t *testing.T) {
	t.Parallel()
	inSim(t, 5, func(t *testing.T, s *sim) {
		keys := slots(5)
		var held []*redlock.Lock
		for range keys {
			held = append(held, s.must(s.open().LockAny(t.Context(), keys)))
		}
		var waiting []*queuer
		for range 8 {
			c := s.open()
			waiting = append(waiting, s.queueFor(c, func(ctx context.Context) (*redlock.Lock, error) { return c.LockAny(ctx, keys) }))
			time.Sleep(time.Millisecond)
		}
		for i, q := range waiting {
			time.Sleep(time.Second)
			l := held[0]
			held = held[1:]
			q.mustBeWoken(t, func() { unlock(t, l) })
			for _, later := range waiting[i+1:] {
				if later.has() {
					t.Fatal("two were served, or a later one first")
				}
			}
			held = append(held, q.lock)
		}
		// Who has a slot waits at no other any more.
		for _, l := range held {
			unlock(t, l)
		}
		s.wantClean()
	})
}

func TestWaitersOfEverySortGoOnWhenThePilotIsLost(t *testing.T) {
	t.Parallel()
	for _, k := range sorts {
		for _, how := range []string{"killed", "killed and empty", "frozen"} {
			t.Run(k.name+" "+how, func(t *testing.T) {
				inSim(t, 5, func(t *testing.T, s *sim) {
					s.T = t
					held := sortsOfHolders["set"](s, s.open())
					q := k.waits(s, s.open())
					pilot := 0
					for i, keys := range s.allKeys() {
						if strings.Contains(keys, "redquorum:q:1:") {
							pilot = i
						}
					}
					if how == "frozen" {
						s.Freeze(pilot)
					} else {
						s.Kill(pilot)
					}
					time.Sleep(time.Second)
					unlock(t, held[0])
					within(t, 2*time.Second, func() { unlock(t, q.mustHave(t)) })
					if how == "frozen" {
						s.Thaw(pilot)
					} else {
						s.Restart(how == "killed", pilot)
					}
					time.Sleep(time.Minute) // entries of before end with their queue
					s.wantClean()
				})
			})
		}
	}
}

// allKeys is what each master has.
func (s *sim) allKeys() (all []string) {
	synctest.Wait()
	for _, m := range s.All {
		all = append(all, strings.Join(m.Keys(), " "))
	}
	return all
}

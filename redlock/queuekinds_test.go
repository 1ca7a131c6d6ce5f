package redlock_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// mustBeWoken fails unless the lock is acquired without waiting for a timer.
func (q *queuer) mustBeWoken(t *testing.T, after func()) {
	t.Helper()
	within(t, soon, func() {
		after()
		if !q.has() {
			t.Fatal("not woken")
		}
	})
}

// kindsOfHolders hold "a" and "b".
var kindsOfHolders = map[string]func(s *sim, c *redlock.Client) []*redlock.Lock{
	"set": func(s *sim, c *redlock.Client) []*redlock.Lock {
		return []*redlock.Lock{s.must(c.LockAll(s.T.Context(), ab))}
	},
	"two": func(s *sim, c *redlock.Client) []*redlock.Lock {
		return []*redlock.Lock{mustLock(s.T, c, "b"), mustLock(s.T, c, "a")}
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
	for holder, hold := range kindsOfHolders {
		for _, k := range kinds {
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

func TestCancelledWaitersOfEverySortLeaveNoEntry(t *testing.T) {
	t.Parallel()
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			onEachLevel(t, func(t *testing.T, s *sim) {
				held := kindsOfHolders["set"](s, s.open())
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

func TestCloseAndOutagesEndTheWaitingOfEverySort(t *testing.T) {
	t.Parallel()
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			inSim(t, 5, func(t *testing.T, s *sim) {
				s.T = t
				held := kindsOfHolders["set"](s, s.open())
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
				took := within(t, 4500*time.Millisecond, func() {
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

func (s *sim) allKeys() (all []string) {
	synctest.Wait()
	for _, m := range s.All {
		all = append(all, strings.Join(m.Keys(), " "))
	}
	return all
}

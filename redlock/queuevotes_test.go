package redlock_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// A pilot that has lost its data grants what it is asked for alone, and that is
// no vote.
func TestWhatAPilotGrantsThatMayNotVoteDoesNotCount(t *testing.T) {
	for _, waiter := range []string{"one", "all", "any"} {
		t.Run(waiter, func(t *testing.T) {
			inSim(t, 5, func(t *testing.T, s *sim) {
				s.t = t
				c := s.guarded(redlock.WithOutageWait(time.Minute))
				mustLock(t, c, "declared")
				s.do("SET", "a", "another's", "PX", 1500)
				if waiter == "any" {
					s.do("SET", "b", "another's", "PX", 60_000)
				}
				q := sortsOfWaiters[waiter](s, c)
				time.Sleep(10 * time.Millisecond)
				pilot := -1
				for i, keys := range s.allKeys() {
					if strings.Contains(keys, "redquorum:q:1:{a}") {
						pilot = i
					}
				}
				if pilot < 0 {
					t.Fatal("it does not queue up")
				}
				s.masters[pilot].FlushAll() // of the three that have it
				s.master((pilot+1)%5, "DEL", "a")
				s.master((pilot+2)%5, "DEL", "a")
				time.Sleep(1400 * time.Millisecond)
				synctest.Wait()
				if q.has() {
					t.Fatal("it has a lock that another holds on three of the masters")
				}
				time.Sleep(quarantine())
				unlock(t, q.mustHave(t))
			})
		})
	}
}

// Sets and slots with a fencing token, and in strict, poll: they are in no queue,
// and get what is free all the same.
func TestGuardedSetsAndSlotsPoll(t *testing.T) {
	for name, open := range map[string]func(s *sim) *redlock.Client{
		"fenced": func(s *sim) *redlock.Client { return s.open(redlock.WithFencing()) },
		"strict": func(s *sim) *redlock.Client { return s.open(redlock.WithStrict()) },
	} {
		for _, waiter := range []string{"all", "any"} {
			t.Run(name+" "+waiter, func(t *testing.T) {
				inUnguardedSim(t, 5, func(t *testing.T, s *sim) {
					s.t = t
					held := sortsOfHolders["set"](t, open(s))
					q := sortsOfWaiters[waiter](s, open(s))
					for range 20 {
						time.Sleep(97 * time.Millisecond)
						for i, keys := range s.allKeys() {
							if strings.Contains(keys, "redquorum:q:1:") {
								t.Fatalf("master %d has a queue: %s", i, keys)
							}
						}
					}
					unlock(t, held[0])
					took := within(t, time.Second, func() { unlock(t, q.mustHave(t)) })
					t.Log(took)
					s.wantNoLocks()
				})
			})
		}
	}
}

// A set that is waited for in one process does not end the polling of one that
// is guarded, nor does an end of ctx leave anything.
func TestAGuardedSetBesideOneThatQueues(t *testing.T) {
	inUnguardedSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open()
		held := sortsOfHolders["set"](t, s.open())
		plain := s.queueAll(c, "a", "b")
		fenced := s.queueFor(c, func(ctx context.Context) (*redlock.Lock, error) {
			return c.LockAll(ctx, []string{"a", "b"}, redlock.WithFencing())
		})
		time.Sleep(time.Second)
		unlock(t, held[0])
		within(t, 2*time.Second, func() {
			// Where the holder was too late at the pilot, that is free: who queues is
			// refused by the others, again and again, and may be overtaken by who polls.
			first, second := plain, fenced
			select {
			case <-plain.done:
			case <-fenced.done:
				first, second = fenced, plain
			}
			unlock(t, first.mustHave(t))
			unlock(t, second.mustHave(t))
		})
		s.wantNoLocks()
	})
}

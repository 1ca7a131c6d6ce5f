package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// mustLockAny acquires or ends the test, and lets the masters execute what the
// decision did not wait for.
func mustLockAny(t *testing.T, c *redlock.Client, keys []string, opts ...redlock.LockOption) *redlock.Lock {
	t.Helper()
	l, err := c.LockAny(t.Context(), keys, opts...)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	return l
}

// slots names n keys.
func slots(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("slot-%02d", i)
	}
	return keys
}

// atOnce tries again without a pause.
func atOnce() redlock.LockOption {
	return redlock.WithBackoff(func(int) time.Duration { return 0 })
}

// On each of three masters both slots are free, one of them or both are taken, or the
// master is down. In every combination a slot is acquired exactly when it is free on a
// quorum, if only in the second order that is tried. Nothing else of the token is left
// anywhere.
func TestASlotIsAcquiredExactlyWhenOneIsFreeOnAQuorum(t *testing.T) {
	t.Parallel()
	const n, need, states, foreign = 3, 2, 5, "somebody-else"
	inUnguardedSim(t, n, func(t *testing.T, s *sim) {
		c := s.open(redlock.WithOutageWait(0))
		for combination := range states * states * states {
			keys := []string{fmt.Sprintf("a-%d", combination), fmt.Sprintf("b-%d", combination)}
			var state [n]int // bit 0: the first is taken, bit 1: the second; 4: down
			free, down := map[string]int{}, 0
			for i, rest := 0, combination; i < n; i, rest = i+1, rest/states {
				state[i] = rest % states
				if state[i] == 4 {
					down++
					s.kill(i)
					continue
				}
				for k, key := range keys {
					if state[i]&(1<<k) == 0 {
						free[key]++
					} else if err := s.masters[i].Set(key, foreign, time.Hour); err != nil {
						t.Fatal(err)
					}
				}
			}

			possible := free[keys[0]] >= need || free[keys[1]] >= need
			tries := 4
			if possible {
				tries = 64 // each has at least an even chance
			}
			l, err := c.LockAny(t.Context(), keys, redlock.WithTries(tries), atOnce())
			synctest.Wait()
			switch {
			case possible:
				if err != nil {
					t.Errorf("%v: %v", state, err)
					break
				}
				if free[l.Key()] < need {
					t.Errorf("%v: got %s, which is free on %d masters", state, l.Key(), free[l.Key()])
				}
				other := keys[0]
				if other == l.Key() {
					other = keys[1]
				}
				if has, not := s.holders(l.Key(), l.Token()), s.holders(other, l.Token()); has < need || not != 0 {
					t.Errorf("%v: %s is on %d masters, %s on %d", state, l.Key(), has, other, not)
				}
				if err := l.Unlock(t.Context()); err != nil {
					t.Errorf("%v: unlock: %v", state, err)
				}
			case n-down < need:
				wantExactly(t, err, redlock.ErrNoQuorum)
			default:
				wantExactly(t, err, redlock.ErrTaken)
			}
			for i := range n {
				if state[i] == 4 {
					s.restart(true, i)
				}
			}
			time.Sleep(3 * time.Second) // until the client has connected again
			for i, m := range s.masters {
				for k, key := range keys {
					v, _ := m.Get(key)
					want := ""
					if state[i] < 4 && state[i]&(1<<k) != 0 {
						want = foreign
					}
					if v != want {
						t.Errorf("%v: master %d has %q at %s afterwards, want %q", state, i, v, key, want)
					}
				}
				m.FlushAll()
			}
			if ready := c.Ready(t.Context()); ready != nil {
				t.Fatal(ready)
			}
		}
	})
}

// From the moment it is granted it is the plain lock of its key.
func TestASlotIsThePlainLockOfItsKey(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open(redlock.WithKeyPrefix("shop:"))
		keys := slots(3)
		l := mustLockAny(t, c, keys)
		if !slices.Contains(keys, l.Key()) || !slices.Equal(l.Keys(), []string{l.Key()}) {
			t.Fatalf("Key is %q, Keys are %q", l.Key(), l.Keys())
		}
		onlyThere := func() {
			t.Helper()
			synctest.Wait()
			if n, all := s.holders("shop:"+l.Key(), l.Token()), s.leftovers(); n != 5 || len(all) != 5 {
				t.Errorf("%s is on %d masters, there is %q", l.Key(), n, all)
			}
		}
		onlyThere()
		time.Sleep(time.Minute) // renewed
		onlyThere()
		for _, err := range []error{l.Extend(t.Context()), l.Verify(t.Context())} {
			if err != nil {
				t.Error(err)
			}
		}
		_, err := c.TryLock(t.Context(), l.Key())
		wantExactly(t, err, redlock.ErrTaken)
		unlock(t, l)
		s.wantClean()

		l = mustLockAny(t, c, keys)
		for i := range 3 {
			_ = s.masters[i].Set("shop:"+l.Key(), "thief", 4*time.Second)
		}
		<-l.Context().Done()
		wantReason(t, context.Cause(l.Context()), redlock.ReasonTaken)
		time.Sleep(4 * time.Second)
		s.wantClean()
		wantExactly(t, l.Unlock(t.Context()), redlock.ErrNotHeld, redlock.ErrLost)
	})
}

func TestEverySlotIsGivenOnceAndThenItIsTaken(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		c, d := s.open(), s.open()
		keys := slots(4)
		got := map[string]*redlock.Lock{}
		for range keys {
			l := mustLockAny(t, c, append(keys, keys[0])) // named twice, there once
			if got[l.Key()] != nil {
				t.Errorf("%s was given twice", l.Key())
			}
			got[l.Key()] = l
		}
		_, err := d.TryLockAny(t.Context(), keys)
		wantExactly(t, err, redlock.ErrTaken)
		h, ok := errors.AsType[*redlock.HeldError](err)
		if !ok || got[h.Key] == nil || got[h.Key].Token() != h.Token || !strings.Contains(err.Error(), `"slot-00" and 3 more`) {
			t.Errorf("%v does not say who holds one of the keys: %+v", err, h)
		}
		unlock(t, got[keys[2]])
		if l := mustLockAny(t, d, keys); l.Key() != keys[2] {
			t.Errorf("got %s, only %s is free", l.Key(), keys[2])
		}
	})
}

// Two masters are frozen and would grant another slot. Their late grants are
// released behind themselves, with nothing of the token left but the one slot.
func TestALateGrantOfAnotherSlotIsReleased(t *testing.T) {
	for _, unlockFirst := range []bool{false, true} {
		t.Run(fmt.Sprintf("unlocked first: %v", unlockFirst), func(t *testing.T) {
			inSim(t, 5, func(t *testing.T, s *sim) {
				c := s.open()
				for i := range 3 {
					_ = s.masters[i].Set("a", "somebody-else", time.Hour)
				}
				for i := 3; i < 5; i++ {
					_ = s.masters[i].Set("b", "somebody-else", time.Hour)
				}
				s.freeze(3, 4)
				var l *redlock.Lock
				within(t, 0, func() { l = mustLockAny(t, c, []string{"a", "b"}) })
				if l.Key() != "b" {
					t.Fatalf("got %s", l.Key())
				}
				if unlockFirst {
					unlock(t, l)
				}
				s.thaw(3, 4)
				if n := s.holders("a", l.Token()); n != 0 {
					t.Errorf("the other slot is left on %d masters", n)
				}
				if n := s.masters[4].Commands()["EVALSHA"]; n < 2 {
					t.Errorf("the late master executed %d scripts: the test tests nothing", n)
				}
				if !unlockFirst {
					if n := s.holders("b", l.Token()); n != 3 {
						t.Errorf("the slot is on %d masters", n)
					}
					unlock(t, l)
				}
				synctest.Wait()
				if n := s.holders("b", l.Token()) + s.holders("a", l.Token()); n != 0 {
					t.Errorf("%d keys are left", n)
				}
			})
		})
	}
}

// Votes that were split are no failure of any master, and leave nothing.
func TestSplitVotesAreContention(t *testing.T) {
	inSim(t, 3, func(t *testing.T, s *sim) {
		c := s.open()
		keys := slots(3)
		for i, m := range s.masters { // each has another slot free
			for k, key := range keys {
				if k != i {
					_ = m.Set(key, "somebody-else", time.Hour)
				}
			}
		}
		within(t, 0, func() {
			_, err := c.TryLockAny(t.Context(), keys)
			wantExactly(t, err, redlock.ErrTaken)
			if q, ok := errors.AsType[*redlock.QuorumError](err); !ok || q.OK != 1 || !strings.Contains(err.Error(), "granted another of the keys") {
				t.Errorf("%+v", err)
			}
		})
		synctest.Wait()
		if n := len(s.leftovers()); n != 6 {
			t.Errorf("%d keys are there, want the 6 of the others", n)
		}
	})
}

func TestAFailedAttemptAtSlotsLeavesNothing(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open()
		s.freeze(0, 1, 2)
		_, err := c.TryLockAny(t.Context(), slots(4))
		wantExactly(t, err, redlock.ErrNoQuorum)
		synctest.Wait()
		if left := s.leftovers(); len(left) != 0 {
			t.Errorf("left on those that answered: %q", left)
		}
		s.thaw(0, 1, 2)
		s.wantClean()

		ctx, cancel := context.WithCancel(t.Context())
		s.freeze(0, 1, 2)
		go func() {
			synctest.Wait()
			cancel()
		}()
		_, err = c.LockAny(ctx, slots(4))
		wantExactly(t, err, redlock.ErrNoQuorum, context.Canceled)
		s.thaw(0, 1, 2)
		s.wantClean()
	})
}

// A master that has forgotten the script answers when the slot is decided: to
// send it again then could set another slot, with no release behind it.
func TestSlotsAreNotSentAgainOnceDecided(t *testing.T) {
	inUnguardedSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open()
		keys := slots(8)
		for i := range 5 {
			s.ask(i, "SCRIPT", "FLUSH")
		}
		l := mustLockAny(t, c, keys)
		if n := s.holders(l.Key(), l.Token()); n < 3 {
			t.Errorf("after SCRIPT FLUSH the slot is on %d masters", n)
		}
		unlock(t, l)
		s.wantClean()

		s.ask(4, "SCRIPT", "FLUSH")
		s.freeze(4)
		l = mustLockAny(t, c, keys)
		s.thaw(4)
		if n := len(s.masters[4].Keys()); n != 0 {
			t.Errorf("%d keys on the master that came late", n)
		}
		unlock(t, l)
		s.wantClean()
	})
}

// Only when all slots are held under the context is waiting for one waiting for
// oneself.
func TestSlotsUnderHoldsOnAllOfThemAreRefused(t *testing.T) {
	inSim(t, 3, func(t *testing.T, s *sim) {
		c := s.open()
		keys := slots(2)
		first := mustLockAny(t, c, keys)
		second, err := c.TryLockAny(first.Context(), keys)
		if err != nil {
			t.Fatal(err)
		}
		both, cancel := second.WithContext(first.Context())
		defer cancel()
		_, err = c.TryLockAny(both, keys)
		wantExactly(t, err, redlock.ErrReentrant)
		_, err = c.TryLockAny(second.Context(), keys) // another may give one back
		wantExactly(t, err, redlock.ErrTaken)
		_, err = c.TryLock(first.Context(), first.Key())
		wantExactly(t, err, redlock.ErrReentrant)
	})
}

// Contenders that start together on twice as many slots: nearly all of them get
// one. With the same order for all, six of ten do.
func TestARandomOrderGivesNearlyEveryContenderASlot(t *testing.T) {
	const contenders, rounds = 10, 40
	inSim(t, 5, func(t *testing.T, s *sim) {
		keys := slots(2 * contenders)
		clients := make([]*redlock.Client, contenders)
		for i := range clients {
			clients[i] = s.open()
		}
		winners := 0
		for range rounds {
			locks := make([]*redlock.Lock, contenders)
			var wg sync.WaitGroup
			for i, c := range clients {
				wg.Go(func() { locks[i], _ = c.TryLockAny(t.Context(), keys) })
			}
			wg.Wait()
			for _, l := range locks {
				if l != nil {
					winners++
					_ = l.Unlock(t.Context())
				}
			}
			s.wantClean()
		}
		t.Logf("%.2f of %d contenders got one of %d slots", float64(winners)/rounds, contenders, len(keys))
		if winners < rounds*contenders*8/10 {
			t.Errorf("%d of %d attempts got a slot", winners, rounds*contenders)
		}
	})
}

// A semaphore: never more holders than slots, while masters come and go, and
// when the dust has settled exactly one slot a holder.
func TestNeverMoreHoldersThanSlots(t *testing.T) {
	t.Parallel()
	const permits, clients, each = 3, 8, 6
	inUnguardedSim(t, 5, func(t *testing.T, s *sim) {
		keys := slots(permits)
		var mu sync.Mutex
		holder := map[string]int{}
		var wg sync.WaitGroup
		for n := range clients {
			c := s.open(redlock.WithTTL(2 * time.Second))
			wg.Go(func() {
				for range each {
					l, err := c.LockAny(t.Context(), keys)
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					if other := holder[l.Key()]; other != 0 || len(holder) >= permits {
						t.Errorf("%d holds %s; held are %v", n+1, l.Key(), holder)
					}
					holder[l.Key()] = n + 1
					mu.Unlock()
					time.Sleep(50 * time.Millisecond)
					mu.Lock()
					if l.Remaining() == 0 {
						t.Error("lost with a majority up all the time")
					}
					delete(holder, l.Key())
					mu.Unlock()
					if err := l.Unlock(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		}
		withFaults(s, wg.Wait)
		s.wantClean()

		c := s.open(redlock.WithTTL(2 * time.Second))
		var locks []*redlock.Lock
		for range permits {
			locks = append(locks, mustLockAny(t, c, keys))
		}
		withFaults(s, func() { time.Sleep(20 * time.Second) })
		for _, l := range locks {
			if err := l.Verify(t.Context()); err != nil {
				t.Error(err)
			}
			for _, key := range keys {
				n := s.holders(key, l.Token())
				if key == l.Key() && n < 3 || key != l.Key() && n != 0 {
					t.Errorf("the holder of %s has %s on %d masters", l.Key(), key, n)
				}
			}
		}
		_, err := c.TryLockAny(t.Context(), keys)
		wantExactly(t, err, redlock.ErrTaken)
	})
}

// Each attempt has an order of its own, a retry too.
func TestAnyOfTheSlotsMayBeTriedFirst(t *testing.T) {
	inSim(t, 3, func(t *testing.T, s *sim) {
		c := s.open()
		keys := slots(4)
		got := map[string]bool{}
		for range 100 {
			l := mustLockAny(t, c, keys)
			got[l.Key()] = true
			unlock(t, l)
		}
		if len(got) != len(keys) {
			t.Errorf("100 times only %v", got)
		}
	})
}

// The trace tells of the slot that was got, and of the first where none was.
func TestTheTraceNamesTheSlot(t *testing.T) {
	inSim(t, 3, func(t *testing.T, s *sim) {
		var attempts, waits, nodes []string
		c := s.open(redlock.WithTrace(&redlock.Trace{
			Attempt: func(i redlock.AttemptInfo) { attempts = append(attempts, i.Key) },
			Wait:    func(i redlock.WaitInfo) { waits = append(waits, i.Key) },
			Node:    func(i redlock.NodeInfo) { nodes = append(nodes, i.Op) },
		}))
		keys := slots(2)
		one := mustLockAny(t, c, keys)
		two := mustLockAny(t, c, keys)
		_, err := c.TryLockAny(t.Context(), keys)
		wantExactly(t, err, redlock.ErrTaken)
		want := []string{one.Key(), two.Key(), keys[0]}
		if !slices.Equal(attempts, want) || !slices.Equal(waits, want) {
			t.Errorf("attempts at %q, waits for %q, want %q", attempts, waits, want)
		}
		if len(nodes) != 9 { // the release of other slots is nobody's question
			t.Errorf("masters' parts: %q", nodes)
		}
	})
}

// Close lets out what an attempt left to be released, and ends calls that wait.
func TestCloseLeavesNoSlotBehind(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		c, d := s.open(), s.open()
		keys := slots(3)
		for range keys {
			mustLockAny(t, d, keys)
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			_, err := c.LockAny(t.Context(), keys)
			wantExactly(t, err, redlock.ErrClosed)
		})
		synctest.Wait()
		_ = c.Close()
		wg.Wait()
		_ = d.Close()
		s.wantClean()
	})
}

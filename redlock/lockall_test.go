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

// mustLockAll acquires or ends the test, and lets the masters execute what the
// decision did not wait for.
func mustLockAll(t *testing.T, c *redlock.Client, keys []string, opts ...redlock.LockOption) *redlock.Lock {
	t.Helper()
	l, err := c.LockAll(t.Context(), keys, opts...)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	return l
}

// Every way in which three masters can each have both keys free, one of them or
// both taken, or be down: the attempt succeeds exactly when both are free on a
// quorum, nothing is written where one is taken, and nothing is left behind.
func TestAllKeysAreAcquiredExactlyWhenAQuorumHasAllFree(t *testing.T) {
	t.Parallel()
	const n, need, states, foreign = 3, 2, 5, "somebody-else"
	inUnguardedSim(t, n, func(t *testing.T, s *sim) {
		c := s.open(redlock.WithOutageWait(0))
		for combination := range states * states * states {
			keys := []string{fmt.Sprintf("a-%d", combination), fmt.Sprintf("b-%d", combination)}
			var state [n]int // bit 0: the first is taken, bit 1: the second; 4: down
			free, taken, down := 0, 0, 0
			for i, rest := 0, combination; i < n; i, rest = i+1, rest/states {
				state[i] = rest % states
				switch state[i] {
				case 0:
					free++
				case 4:
					down++
					s.kill(i)
				default:
					taken++
				}
				for k, key := range keys {
					if state[i] < 4 && state[i]&(1<<k) != 0 {
						if err := s.masters[i].Set(key, foreign, time.Hour); err != nil {
							t.Fatal(err)
						}
					}
				}
			}

			var l *redlock.Lock
			var err error
			within(t, 0, func() { l, err = c.TryLockAll(t.Context(), keys) })
			synctest.Wait()
			switch {
			case free >= need:
				if err != nil {
					t.Errorf("%v: %v", state, err)
					break
				}
				for i, m := range s.masters {
					for _, key := range keys {
						if v, _ := m.Get(key); v == l.Token() && state[i] != 0 {
							t.Errorf("%v: master %d refused and has %s", state, i, key)
						}
					}
				}
				for _, key := range keys {
					if got := s.holders(key, l.Token()); got != free {
						t.Errorf("%v: %s is on %d masters", state, key, got)
					}
				}
				unlock(t, l)
			case n-down < need:
				wantExactly(t, err, redlock.ErrNoQuorum)
			default:
				wantExactly(t, err, redlock.ErrTaken)
			}
			if err != nil && taken >= need {
				wantKeyInTheWay(t, err, keys, foreign)
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

// wantKeyInTheWay checks that a refusal names one of the keys, and who holds it.
func wantKeyInTheWay(t *testing.T, err error, keys []string, holder string) {
	t.Helper()
	h, ok := errors.AsType[*redlock.HeldError](err)
	if !ok || !slices.Contains(keys, h.Key) || h.Token != holder || h.TTL <= 0 {
		t.Errorf("%v does not say which key is held by whom: %+v", err, h)
	}
}

func TestAKeyOfAnotherTypeKeepsTheWholeSetOut(t *testing.T) {
	inSim(t, 3, func(t *testing.T, s *sim) {
		c := s.open()
		s.do("HSET", "b", "field", "value")
		_, err := c.TryLockAll(t.Context(), []string{"a", "b", "c"})
		wantExactly(t, err, redlock.ErrTaken)
		h, ok := errors.AsType[*redlock.HeldError](err)
		if !ok || h.Key != "b" || h.Type != "hash" {
			t.Errorf("%v is described by %+v", err, h)
		}
		if text := err.Error(); !strings.Contains(text, `"a" and 2 more`) || !strings.Contains(text, `"b": the key is a hash`) {
			t.Errorf("text %q", text)
		}
		synctest.Wait()
		if keys := s.leftovers(); len(keys) != 3 {
			t.Errorf("keys are %q", keys)
		}
	})
}

func TestTheKeysOfASetAreSortedAndThereOnce(t *testing.T) {
	inSim(t, 3, func(t *testing.T, s *sim) {
		c := s.open(redlock.WithKeyPrefix("shop:"))
		given := []string{"c", "a", "b", "a", "c"}
		l := mustLockAll(t, c, given)
		if got := l.Keys(); !slices.Equal(got, []string{"a", "b", "c"}) || l.Key() != "a" {
			t.Errorf("Keys are %q, Key is %q", got, l.Key())
		}
		if !slices.Equal(given, []string{"c", "a", "b", "a", "c"}) {
			t.Errorf("the caller's slice is %q now", given)
		}
		for _, key := range l.Keys() {
			if n := s.holders("shop:"+key, l.Token()); n != 3 {
				t.Errorf("%s is on %d masters", key, n)
			}
		}
		_, err := s.open(redlock.WithKeyPrefix("shop:")).TryLockAll(t.Context(), []string{"b", "z"})
		wantKeyInTheWay(t, err, []string{"b"}, l.Token())
		unlock(t, l)
		s.wantClean()

		one := mustLockAll(t, c, []string{"x", "x"})
		if got := one.Keys(); !slices.Equal(got, []string{"x"}) {
			t.Errorf("Keys are %q", got)
		}
		if n := s.masters[0].Commands()["SET"]; n != 1 {
			t.Errorf("%d SET commands: want one, as for any lock of one key", n)
		}
		unlock(t, one)
		s.wantClean()
	})
}

func TestBadSetsAreRefusedAndSendNothing(t *testing.T) {
	inSim(t, 3, func(t *testing.T, s *sim) {
		c := s.open()
		tooMany := make([]string, 129)
		for i := range tooMany {
			tooMany[i] = fmt.Sprint(i)
		}
		before := s.masters[0].Commands()
		for _, test := range []struct {
			keys []string
			want string
		}{
			{nil, "0 keys: want 1 to 128"},
			{[]string{}, "0 keys: want 1 to 128"},
			{tooMany, "129 keys: want 1 to 128"},
			{[]string{"a", ""}, "number 2 of 2 keys: the key is empty"},
			{[]string{"a", strings.Repeat("x", 1025), "b"}, "number 2 of 3 keys: the key has 1025 bytes: want 1 to 1024"},
			{[]string{"redquorum:x", "b"}, `number 1 of 2 keys: key "redquorum:x": the prefix "redquorum:" is reserved`},
		} {
			_, all := c.LockAll(t.Context(), test.keys)
			_, tryAll := c.TryLockAll(t.Context(), test.keys)
			_, some := c.LockAny(t.Context(), test.keys)
			_, trySome := c.TryLockAny(t.Context(), test.keys)
			for _, err := range []error{all, tryAll, some, trySome} {
				if err == nil || !strings.HasSuffix(err.Error(), test.want) {
					t.Errorf("%v: want %q", err, test.want)
				}
			}
		}
		over, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := c.LockAll(over, []string{"a", "b"})
		wantExactly(t, err, context.Canceled)
		_, err = c.LockAny(over, []string{"a", "b"})
		wantExactly(t, err, context.Canceled)
		_, err = c.LockAll(t.Context(), []string{"a", "b"}, redlock.WithTTL(time.Nanosecond))
		if err == nil || !strings.Contains(err.Error(), "WithTTL") {
			t.Error(err)
		}
		synctest.Wait()
		if after := s.masters[0].Commands(); fmt.Sprint(after) != fmt.Sprint(before) {
			t.Errorf("commands were sent: %v, then %v", before, after)
		}
		if l, err := c.LockAll(t.Context(), tooMany[:128]); err != nil {
			t.Error(err)
		} else if err := l.Unlock(t.Context()); err != nil {
			t.Error(err)
		}
		_ = c.Close()
		_, err = c.LockAll(t.Context(), []string{"a", "b"})
		wantExactly(t, err, redlock.ErrClosed)
		_, err = c.LockAny(t.Context(), []string{"a", "b"})
		wantExactly(t, err, redlock.ErrClosed)
		s.wantClean()
	})
}

// One round trip: a set costs each master one command, as one key does.
func TestASetCostsOneCommandAMaster(t *testing.T) {
	inUnguardedSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open()
		before := s.masters[2].Commands()
		l := mustLockAll(t, c, []string{"a", "b", "c", "d"})
		unlock(t, l)
		synctest.Wait()
		after := s.masters[2].Commands()
		if n := after["EVALSHA"] - before["EVALSHA"]; n != 2 || after["EVAL"] != 0 {
			t.Errorf("%d EVALSHA, %d EVAL: want one to acquire and one to release", n, after["EVAL"])
		}
	})
}

func TestASetAndItsKeysExcludeEachOther(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		c, d := s.open(), s.open()
		l := mustLockAll(t, c, []string{"a", "b", "c"})
		_, err := d.TryLock(t.Context(), "b")
		wantExactly(t, err, redlock.ErrTaken)
		_, err = d.TryLockAll(t.Context(), []string{"c", "d"})
		wantExactly(t, err, redlock.ErrTaken)
		apart, err := d.TryLockAll(t.Context(), []string{"d", "e"})
		if err != nil {
			t.Fatal(err)
		}
		unlock(t, l)
		one := mustLock(t, d, "b")
		_, err = c.TryLockAll(t.Context(), []string{"a", "b", "c"})
		wantExactly(t, err, redlock.ErrTaken)
		synctest.Wait()
		// The rollback left the others' locks alone (S4).
		for _, l := range []*redlock.Lock{apart, one} {
			if err := l.Verify(t.Context()); err != nil {
				t.Error(err)
			}
			unlock(t, l)
		}
		s.wantClean()
	})
}

// What frozen masters granted too late is released behind its own grant.
func TestALateGrantOfASetIsRolledBack(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open()
		keys := []string{"a", "b", "c"}
		s.freeze(0, 1, 2)
		_, err := c.TryLockAll(t.Context(), keys)
		wantExactly(t, err, redlock.ErrNoQuorum)
		synctest.Wait()
		if left := s.leftovers(); len(left) != 0 {
			t.Errorf("left on those that answered: %q", left)
		}
		s.thaw(0, 1, 2)
		s.wantClean()

		s.freeze(3, 4) // a minority
		var l *redlock.Lock
		within(t, 0, func() {
			l, err = c.TryLockAll(t.Context(), keys)
			if err == nil {
				err = l.Unlock(t.Context())
			}
		})
		if err != nil {
			t.Error(err)
		}
		s.thaw(3, 4)
		s.wantClean()
	})
}

func TestASetIsRenewedAndEndsAsOne(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open()
		keys := []string{"a", "b", "c"}
		l := mustLockAll(t, c, keys)
		time.Sleep(time.Minute)
		if l.Context().Err() != nil {
			t.Fatal(context.Cause(l.Context()))
		}
		for _, key := range keys {
			if n := s.holders(key, l.Token()); n != 5 {
				t.Errorf("%s is on %d masters", key, n)
			}
		}
		if err := l.Verify(t.Context()); err != nil {
			t.Error(err)
		}
		unlock(t, l)
		wantExactly(t, l.Unlock(t.Context()), redlock.ErrNotHeld, redlock.ErrUnlocked)
		s.wantClean()

		lease := mustLockAll(t, c, keys, redlock.WithLease(time.Second))
		<-lease.Context().Done()
		wantReason(t, context.Cause(lease.Context()), redlock.ReasonExpired)
		time.Sleep(time.Second)
		s.wantClean()
		wantExactly(t, lease.Extend(t.Context()), redlock.ErrNotHeld, redlock.ErrLost)
	})
}

// Where one key of the set is missing on a master, that master does not count for the
// extension that sets it again. It counts for the next one (S6).
func TestASetIsStillHeldOnlyWhereAllItsKeysAre(t *testing.T) {
	inUnguardedSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open()
		keys := []string{"a", "b", "c"}
		l := mustLockAll(t, c, keys, redlock.WithLease(10*time.Second))
		s.kill(3, 4)
		s.restart(false, 0) // empty: two of five still have it
		time.Sleep(3 * time.Second)
		before := l.Remaining()
		wantExactly(t, l.Extend(t.Context()), redlock.ErrNoQuorum)
		if l.Remaining() != before {
			t.Errorf("Remaining went from %v to %v", before, l.Remaining())
		}
		for _, key := range keys {
			if v, _ := s.masters[0].Get(key); v != l.Token() {
				t.Errorf("%s was not set again: %q", key, v)
			}
		}
		if err := l.Extend(t.Context()); err != nil {
			t.Errorf("the second extension, with three of five: %v", err)
		}
		unlock(t, l)
		s.restart(true, 3, 4)
		time.Sleep(3 * time.Second)
		s.wantClean()
	})
}

// One key of the set is enough to lose it, wherever it is missing or taken on a
// majority; the others are released with it.
func TestASetIsLostWithAnyOfItsKeys(t *testing.T) {
	t.Parallel()
	keys := []string{"a", "b", "c"}
	for _, key := range keys {
		t.Run(key, func(t *testing.T) {
			inSim(t, 5, func(t *testing.T, s *sim) {
				l := mustLockAll(t, s.open(), keys)
				_ = s.masters[0].Set(key, "thief", time.Minute)
				_ = s.masters[1].Set(key, "thief", time.Minute)
				time.Sleep(30 * time.Second) // a minority does no harm
				if l.Context().Err() != nil {
					t.Fatal(context.Cause(l.Context()))
				}
				_ = s.masters[2].Set(key, "thief", time.Minute)
				began := time.Now()
				<-l.Context().Done()
				if d := time.Since(began); d > 10*time.Second/3 {
					t.Errorf("noticed after %v: want at the next renewal", d)
				}
				wantReason(t, context.Cause(l.Context()), redlock.ReasonTaken)
				synctest.Wait()
				for _, k := range keys {
					if n := s.holders(k, l.Token()); n != 0 {
						t.Errorf("%s of a lost set was left on %d masters", k, n)
					}
				}
				if n := s.holders(key, "thief"); n != 3 {
					t.Errorf("the thief has %d keys left", n)
				}
			})
		})
	}
}

func TestASetUnderAHoldOnOneOfItsKeysIsRefused(t *testing.T) {
	inSim(t, 3, func(t *testing.T, s *sim) {
		c, d := s.open(), s.open()
		l := mustLock(t, c, "b")
		_, err := c.TryLockAll(l.Context(), []string{"a", "b", "c"})
		wantExactly(t, err, redlock.ErrReentrant)
		if !strings.Contains(err.Error(), `"b"`) {
			t.Errorf("%v does not name the key", err)
		}
		_, err = d.TryLockAll(l.Context(), []string{"a", "b"}) // another client's hold
		wantExactly(t, err, redlock.ErrTaken)
		set := mustLockAll(t, c, []string{"x", "y"})
		_, err = c.TryLock(set.Context(), "y")
		wantExactly(t, err, redlock.ErrReentrant)
		_, err = c.TryLockAll(set.Context(), []string{"w", "x"})
		wantExactly(t, err, redlock.ErrReentrant)
		_ = l.Unlock(t.Context())
		_ = set.Unlock(t.Context())
		s.wantClean()
	})
}

// A master that has forgotten the script gets it once in full, but not when the
// release is on its way already: it would set the keys again behind it.
func TestAnAcquisitionIsNotSentAgainAfterUnlock(t *testing.T) {
	inUnguardedSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open()
		keys := []string{"a", "b"}
		for i := range 5 {
			s.ask(i, "SCRIPT", "FLUSH")
		}
		l := mustLockAll(t, c, keys)
		if n := s.holders("b", l.Token()); n != 5 {
			t.Errorf("after SCRIPT FLUSH the set is on %d masters", n)
		}
		unlock(t, l)
		s.wantClean() // or the release that is under way to the last master puts its script back
		s.ask(4, "SCRIPT", "FLUSH")
		s.freeze(4)
		l = mustLockAll(t, c, keys)
		unlock(t, l)
		before := s.masters[4].Commands()["EVAL"]
		s.thaw(4)
		s.wantClean()
		if n := s.masters[4].Commands()["EVAL"] - before; n != 1 {
			t.Errorf("%d scripts were sent in full: want the release alone", n)
		}
	})
}

// The keys of a set are plain locks with one token: each can be handed over.
func TestTheKeysOfASetCanBeAdoptedOneByOne(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		c, d := s.open(), s.open()
		token, err := mustLockAll(t, c, []string{"a", "b"}).HandOver()
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"a", "b"} {
			l, err := d.Adopt(t.Context(), key, token)
			if err != nil {
				t.Fatal(err)
			}
			unlock(t, l)
		}
		s.wantClean()
	})
}

// Sets that overlap in all ways, from many clients, while masters come and go:
// everyone gets in, and no key is ever held twice.
func TestOverlappingSetsAllProgressAndNeverShareAKey(t *testing.T) {
	t.Parallel()
	sets := [][]string{{"a", "b"}, {"b", "c"}, {"c", "a"}, {"a", "b", "c"}, {"c", "d"}, {"d", "a"}}
	inSim(t, 5, func(t *testing.T, s *sim) {
		var mu sync.Mutex
		holder := map[string]int{}
		var wg sync.WaitGroup
		for n, keys := range sets {
			c := s.open(redlock.WithTTL(2 * time.Second))
			wg.Go(func() {
				for range 6 {
					l, err := c.LockAll(t.Context(), keys)
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					for _, key := range keys {
						if other := holder[key]; other != 0 {
							t.Errorf("%d holds %s, which %d holds", n+1, key, other)
						}
						holder[key] = n + 1
					}
					mu.Unlock()
					time.Sleep(20 * time.Millisecond)
					mu.Lock()
					if l.Remaining() == 0 {
						t.Error("lost with a majority up all the time")
					}
					for _, key := range keys {
						holder[key] = 0
					}
					mu.Unlock()
					if err := l.Unlock(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		}
		withFaults(s, wg.Wait)
		s.wantClean()
	})
}

package redlock_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/internal/script"
	"github.com/redquorum/redquorum/redlock"
)

type acquire = func(c *redlock.Client, ctx context.Context, keys []string, opts ...redlock.LockOption) (*redlock.Lock, error)

// A kind is a way to hold keys. The tests here check what all kinds promise.
type kind struct {
	name      string
	lock, try acquire
	release   *script.Script
}

var (
	one = kind{
		"one", func(c *redlock.Client, ctx context.Context, keys []string, opts ...redlock.LockOption) (*redlock.Lock, error) {
			return c.Lock(ctx, keys[0], opts...)
		}, func(c *redlock.Client, ctx context.Context, keys []string, opts ...redlock.LockOption) (*redlock.Lock, error) {
			return c.TryLock(ctx, keys[0], opts...)
		}, script.Release,
	}
	all    = kind{"all", (*redlock.Client).LockAll, (*redlock.Client).TryLockAll, script.ReleaseAll}
	writer = kind{
		"writer", func(c *redlock.Client, ctx context.Context, keys []string, opts ...redlock.LockOption) (*redlock.Lock, error) {
			return c.RWMutex(keys[0]).Lock(ctx, opts...)
		}, func(c *redlock.Client, ctx context.Context, keys []string, opts ...redlock.LockOption) (*redlock.Lock, error) {
			return c.RWMutex(keys[0]).TryLock(ctx, opts...)
		}, script.Release,
	}
	reader = kind{
		"reader", func(c *redlock.Client, ctx context.Context, keys []string, opts ...redlock.LockOption) (*redlock.Lock, error) {
			return c.RWMutex(keys[0]).RLock(ctx, opts...)
		}, func(c *redlock.Client, ctx context.Context, keys []string, opts ...redlock.LockOption) (*redlock.Lock, error) {
			return c.RWMutex(keys[0]).TryRLock(ctx, opts...)
		}, script.ReaderRelease,
	}
	kinds = []kind{one, all, writer, reader}

	// slot is the plain lock of one of the keys: lockany_test.go tests how that key is found.
	slot = kind{"any", (*redlock.Client).LockAny, (*redlock.Client).TryLockAny, script.Release}
)

var ab = []string{"a", "b"}

// waits makes a client wait for "a", or for both "a" and "b".
func (k kind) waits(s *sim, c *redlock.Client, opts ...redlock.LockOption) *queuer {
	return s.queueFor(c, func(ctx context.Context) (*redlock.Lock, error) { return k.lock(c, ctx, ab, opts...) })
}

// onEachKind runs a test against five masters for each kind of lock.
func onEachKind(t *testing.T, test func(t *testing.T, s *sim, k kind)) {
	t.Helper()
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			inUnguardedSim(t, 5, func(t *testing.T, s *sim) { test(t, s, k) })
		})
	}
}

// must returns the lock of a call that succeeds, once the masters have executed what the decision
// did not wait for.
func (s *sim) must(l *redlock.Lock, err error) *redlock.Lock {
	s.T.Helper()
	if err != nil {
		s.T.Fatal(err)
	}
	synctest.Wait()
	return l
}

// has reports whether a master has a lock: as the value of all its keys, or among the readers of
// its only key.
func (s *sim) has(i int, l *redlock.Lock) bool {
	s.T.Helper()
	for _, key := range l.Keys() {
		if v, _ := s.All[i].Get(key); v != l.Token() && !slices.Contains(s.members(i, key), l.Token()) {
			return false
		}
	}
	return true
}

// wantOn fails unless this many of the answering masters have a lock.
func (s *sim) wantOn(l *redlock.Lock, want int) {
	s.T.Helper()
	synctest.Wait()
	n := 0
	for i, m := range s.All {
		if m.Up() && s.has(i, l) {
			n++
		}
	}
	if n != want {
		s.T.Errorf("%d masters have the lock of %q, want %d", n, l.Keys(), want)
	}
}

const foreign = "somebody-else"

// A sorted set that does not expire with its last member is no read lock. Every error says what it
// is, and none says a time, however the call waits.
func TestASortedSetOfSomebodyElseIsNamedOnEveryWaitingPath(t *testing.T) {
	ways := map[string][]redlock.LockOption{
		"it queues": nil, "it is fair": {redlock.WithFairness()}, "it polls": {redlock.WithTries(3)},
		"it polls and is fair": {redlock.WithTries(3), redlock.WithFairness()},
	}
	for state, expires := range map[string]bool{"somebody's sorted set": false, "a sorted set that expires": true} {
		onEachKind(t, func(t *testing.T, s *sim, k kind) {
			for _, key := range ab {
				s.do("ZADD", key, 17, "player")
				if expires {
					s.do("PEXPIREAT", key, time.Now().Add(time.Minute).UnixMilli())
				}
			}
			const want = "the key is a zset, not a lock"
			for way, opts := range ways {
				for _, patience := range []time.Duration{time.Millisecond, time.Second} {
					ctx, cancel := context.WithTimeout(t.Context(), patience)
					_, err := k.lock(s.open(), ctx, ab, opts...)
					cancel()
					if text := err.Error(); !errors.Is(err, redlock.ErrTaken) || !strings.Contains(text, want) || strings.Contains(text, "-1ns") {
						t.Errorf("%s, where there is %s: %v, want one that says %q", way, state, err, want)
					}
				}
			}
		})
	}
}

// A lock that nobody else wants costs each master one command to acquire and one to release,
// however many keys it has.
func TestAnUncontendedLockOfEverySortCostsTwoCommandsAMaster(t *testing.T) {
	onEachKind(t, func(t *testing.T, s *sim, k kind) {
		c := s.open()
		want := map[string]int{"EVALSHA": 2}
		if k.release == script.Release {
			want = map[string]int{"SET": 1, "EVALSHA": 1}
		}
		unlock(t, s.must(k.lock(c, t.Context(), ab)))
		for i, m := range s.All {
			for _, command := range []string{"SET", "EVALSHA", "EVAL", "ZREM", "PUBLISH"} {
				n := m.Commands()[command]
				if n != want[command] {
					t.Errorf("master %d was sent %d %s, want %d", i, n, command, want[command])
				}
			}
		}
		s.wantClean()
	})
}

// A late grant of a frozen master is released right behind it.
func TestALateGrantOfEverySortIsRolledBack(t *testing.T) {
	onEachKind(t, func(t *testing.T, s *sim, k kind) {
		c := s.open()
		for _, cancelled := range []bool{false, true} {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			s.Freeze(0, 1, 2)
			want := []error{redlock.ErrNoQuorum}
			if cancelled {
				time.AfterFunc(time.Millisecond, cancel)
				want = append(want, context.Canceled)
			}
			_, err := k.try(c, ctx, ab)
			wantExactly(t, err, want...)
			synctest.Wait()
			if left := s.dataKeys(); len(left) != 0 {
				t.Errorf("left on those that answered: %q", left)
			}
			s.Thaw(0, 1, 2)
			s.wantClean()
		}
		s.Freeze(3, 4) // a minority
		within(t, 0, func() { unlock(t, s.must(k.try(c, t.Context(), ab))) })
		s.Thaw(3, 4)
		s.wantClean()
	})
}

// An acquisition or extension whose script the master does not know must not be sent again behind
// the release of its lock.
func TestNothingOfAnySortIsSentAgainAfterUnlock(t *testing.T) {
	onEachKind(t, func(t *testing.T, s *sim, k kind) {
		c := s.open()
		forget := func() {
			s.do("SCRIPT", "FLUSH")
			s.do("SCRIPT", "LOAD", k.release.Source)
		}
		forget()
		s.Freeze(0, 1)
		unlock(t, s.must(k.lock(c, t.Context(), ab))) // by EVAL on the other three
		before := s.All[0].Commands()["EVAL"]
		s.Thaw(0, 1)
		s.wantClean()
		if n := s.All[0].Commands()["EVAL"] - before; n > 1 {
			t.Errorf("%d scripts were sent in full, want the release alone", n)
		}

		forget()
		l := s.must(k.lock(c, t.Context(), ab))
		forget()
		s.Freeze(0, 1)
		if err := l.Extend(t.Context()); err != nil {
			t.Error(err)
		}
		unlock(t, l)
		s.Thaw(0, 1)
		s.wantClean()

		forget()
		s.Freeze(0, 1, 2)
		_, err := k.try(c, t.Context(), ab)
		wantExactly(t, err, redlock.ErrNoQuorum)
		s.Thaw(0, 1, 2)
		s.wantClean()
	})
}

func TestEverySortIsRenewedVerifiedAndExtendedAndALeaseEndsBeforeItsKeys(t *testing.T) {
	onEachKind(t, func(t *testing.T, s *sim, k kind) {
		c := s.open()
		acquiring, cancel := context.WithCancel(t.Context())
		l := s.must(k.lock(c, acquiring, ab))
		cancel() // it does not bound the hold
		acquired := time.Now()
		time.Sleep(time.Second) // the masters have taken no time
		if got, want := l.Remaining(), 9*time.Second-allowance; got != want || !l.ValidUntil().Equal(acquired.Add(10*time.Second-allowance)) {
			t.Errorf("after a second Remaining is %v: want %v", got, want)
		}
		time.Sleep(5 * time.Minute)
		s.wantOn(l, 5)
		if err := errors.Join(l.Context().Err(), l.Verify(t.Context()), l.Extend(t.Context())); err != nil {
			t.Error(err)
		}
		if got, want := l.Remaining(), 10*time.Second-allowance; got != want {
			t.Errorf("after Extend Remaining is %v: want %v", got, want)
		}
		synctest.Wait()
		for i, m := range s.All {
			if ttl, _ := m.TTL(l.Key()); ttl != 10*time.Second {
				t.Errorf("master %d keeps the lock for %v", i, ttl)
			}
		}
		ctx := l.Context()
		unlock(t, l)
		wantExactly(t, context.Cause(ctx), redlock.ErrUnlocked)
		wantExactly(t, l.Unlock(t.Context()), redlock.ErrNotHeld, redlock.ErrUnlocked)
		s.wantClean()

		l = s.must(k.lock(c, t.Context(), ab, redlock.WithLease(10*time.Second)))
		began := time.Now()
		<-l.Context().Done()
		if got, want := time.Since(began), 10*time.Second-allowance; got != want {
			t.Errorf("the context ended after %v: want %v", got, want)
		}
		s.wantOn(l, 5)
		wantReason(t, context.Cause(l.Context()), redlock.ReasonExpired)
		time.Sleep(allowance + lastMoment)
		s.wantClean()
		wantExactly(t, l.Extend(t.Context()), redlock.ErrLost, redlock.ErrNotHeld)
		s.wantClean()
	})
}

// S6: a master that forgot the lock, or one of its keys, gets it again and counts from
// the next extension on.
func TestForgetfulMasterCountsFromTheNextExtensionOn(t *testing.T) {
	const forgetful = 1 // not a pilot, which gets every release
	empty := func(s *sim, _ *redlock.Lock) {
		s.Restart(false, forgetful)
		time.Sleep(3 * time.Second)
	}
	noLastKey := func(s *sim, l *redlock.Lock) { s.Ask(forgetful, "DEL", l.Keys()[len(l.Keys())-1]) }
	for _, test := range []struct {
		how    string
		kinds  []kind
		forget func(s *sim, l *redlock.Lock)
	}{
		{"down when it was acquired", kinds, empty},
		{"restarted empty", kinds, empty},
		{"without its last key", kinds, noLastKey},
		{"with another reader", []kind{reader}, func(s *sim, l *redlock.Lock) { s.Ask(forgetful, "ZREM", "a", l.Token()) }},
		{"expired by itself", []kind{reader}, func(s *sim, l *redlock.Lock) { s.Ask(forgetful, "ZADD", "a", time.Now().UnixMilli()-1, l.Token()) }},
	} {
		for _, k := range test.kinds {
			t.Run(k.name+" "+test.how, func(t *testing.T) {
				inUnguardedSim(t, 5, func(t *testing.T, s *sim) {
					if k.name == reader.name {
						beside := s.must(s.open().RWMutex("a").RLock(t.Context(), redlock.WithLease(time.Minute)))
						defer func() { _ = beside.Unlock(t.Context()) }() // it may have lost its quorum
					}
					c := s.open()
					if strings.HasPrefix(test.how, "down") {
						s.Kill(forgetful)
					}
					l := s.must(k.lock(c, t.Context(), ab, redlock.WithLease(10*time.Second)))
					test.forget(s, l)
					s.Kill(3, 4) // two of five still have it
					before := l.Remaining()
					err := l.Extend(t.Context())
					wantExactly(t, err, redlock.ErrNoQuorum)
					if q, ok := errors.AsType[*redlock.QuorumError](err); !ok || q.Op != "extend" || q.OK > 2 || !strings.Contains(err.Error(), s.All[forgetful].Addr()) {
						t.Errorf("%v does not name the master that forgot it", err)
					}
					if l.Remaining() != before {
						t.Errorf("Remaining went from %v to %v", before, l.Remaining())
					}
					if !s.has(forgetful, l) {
						t.Error("it was not set again")
					}
					if err := l.Extend(t.Context()); err != nil {
						t.Errorf("the second extension, with three of five: %v", err)
					}
					unlock(t, l)
					s.Restart(true, 3, 4)
					time.Sleep(3 * time.Second)
					s.wantOn(l, 0)
				})
			})
		}
	}
}

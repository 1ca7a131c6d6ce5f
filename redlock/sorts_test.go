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

	"github.com/redquorum/redquorum/internal/script"
	"github.com/redquorum/redquorum/redlock"
)

type acquire = func(c *redlock.Client, ctx context.Context, keys []string, opts ...redlock.LockOption) (*redlock.Lock, error)

// A sort is a way to hold keys: what is promised of all of them is tested here.
type sort struct {
	name      string
	lock, try acquire
	release   *script.Script
}

var (
	one = sort{
		"one", func(c *redlock.Client, ctx context.Context, keys []string, opts ...redlock.LockOption) (*redlock.Lock, error) {
			return c.Lock(ctx, keys[0], opts...)
		}, func(c *redlock.Client, ctx context.Context, keys []string, opts ...redlock.LockOption) (*redlock.Lock, error) {
			return c.TryLock(ctx, keys[0], opts...)
		}, script.Release,
	}
	all    = sort{"all", (*redlock.Client).LockAll, (*redlock.Client).TryLockAll, script.ReleaseAll}
	slot   = sort{"any", (*redlock.Client).LockAny, (*redlock.Client).TryLockAny, script.ReleaseAll}
	writer = sort{
		"writer", func(c *redlock.Client, ctx context.Context, keys []string, opts ...redlock.LockOption) (*redlock.Lock, error) {
			return c.RWMutex(keys[0]).Lock(ctx, opts...)
		}, func(c *redlock.Client, ctx context.Context, keys []string, opts ...redlock.LockOption) (*redlock.Lock, error) {
			return c.RWMutex(keys[0]).TryLock(ctx, opts...)
		}, script.Release,
	}
	reader = sort{
		"reader", func(c *redlock.Client, ctx context.Context, keys []string, opts ...redlock.LockOption) (*redlock.Lock, error) {
			return c.RWMutex(keys[0]).RLock(ctx, opts...)
		}, func(c *redlock.Client, ctx context.Context, keys []string, opts ...redlock.LockOption) (*redlock.Lock, error) {
			return c.RWMutex(keys[0]).TryRLock(ctx, opts...)
		}, script.ReaderRelease,
	}
	sorts = []sort{one, all, slot, writer, reader}
)

// ab are the keys of the tests of all sorts.
var ab = []string{"a", "b"}

// waits has a client wait for "a", for both of "a" and "b", or for one of them.
func (k sort) waits(s *sim, c *redlock.Client, opts ...redlock.LockOption) *queuer {
	return s.queueFor(c, func(ctx context.Context) (*redlock.Lock, error) { return k.lock(c, ctx, ab, opts...) })
}

// onEachSort runs a test against five masters for each sort of lock.
func onEachSort(t *testing.T, test func(t *testing.T, s *sim, k sort)) {
	t.Helper()
	for _, k := range sorts {
		t.Run(k.name, func(t *testing.T) {
			inUnguardedSim(t, 5, func(t *testing.T, s *sim) { test(t, s, k) })
		})
	}
}

// must is the lock of a call that succeeds, when the masters have executed what the
// decision did not wait for.
func (s *sim) must(l *redlock.Lock, err error) *redlock.Lock {
	s.T.Helper()
	if err != nil {
		s.T.Fatal(err)
	}
	synctest.Wait()
	return l
}

// has reports whether a master has a lock: as the value of all its keys, or among the
// readers of its one.
func (s *sim) has(i int, l *redlock.Lock) bool {
	s.T.Helper()
	for _, key := range l.Keys() {
		if v, _ := s.All[i].Get(key); v != l.Token() && !slices.Contains(s.members(i, key), l.Token()) {
			return false
		}
	}
	return true
}

// wantOn fails unless this many of the masters that answer have a lock.
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

// contents is all that the masters hold, but for when it expires.
func (s *sim) contents() string {
	var b strings.Builder
	for i, m := range s.All {
		for _, key := range m.Keys() {
			value, _ := m.Get(key)
			fmt.Fprintf(&b, "%d %s=%s", i, key, value)
			if m.Up() {
				fmt.Fprintf(&b, "%q", s.members(i, key))
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

const foreign = "somebody-else"

// A masterState is what a master has before an attempt at the keys a and b.
type masterState struct {
	name    string
	prepare func(s *sim, i int, a, b string)
	a, b    bool // whether a writer may have the key
	read    bool // whether a reader may have a
}

// The states of masters.
var (
	isFree = masterState{"free", func(*sim, int, string, string) {}, true, true, true}
	isDown = masterState{"down", nil, false, false, false}
	takenA = masterState{"a taken", func(s *sim, i int, a, _ string) { s.Ask(i, "SET", a, foreign, "PX", 3_600_000) }, false, true, false}
	takenB = masterState{"b taken", func(s *sim, i int, _, b string) { s.Ask(i, "SET", b, foreign, "PX", 3_600_000) }, true, false, true}
	taken  = masterState{"taken", func(s *sim, i int, a, b string) { takenA.prepare(s, i, a, b); takenB.prepare(s, i, a, b) }, false, false, false}
	isRead = masterState{"read", func(s *sim, i int, a, _ string) {
		inAMinute := time.Now().Add(time.Minute).UnixMilli()
		s.Ask(i, "ZADD", a, inAMinute, "a reader")
		s.Ask(i, "PEXPIREAT", a, inAMinute)
	}, false, true, true}
	hasIntent = masterState{"a writer waits", func(s *sim, i int, a, _ string) {
		s.Ask(i, "ZADD", intentKey(a), time.Now().Add(time.Second).UnixMilli(), "a writer")
	}, true, true, false}
	hasHash  = masterState{"a hash", func(s *sim, i int, a, _ string) { s.Ask(i, "HSET", a, "field", "value") }, false, true, false}
	hasBoard = masterState{"somebody's sorted set", func(s *sim, i int, a, _ string) { s.Ask(i, "ZADD", a, 17, "player") }, false, true, false}
	expires  = masterState{"a sorted set that expires", func(s *sim, i int, a, b string) {
		hasBoard.prepare(s, i, a, b)
		s.Ask(i, "PEXPIREAT", a, time.Now().Add(time.Minute).UnixMilli())
	}, false, true, false}
)

// Every way in which masters can each be in one of the states: an attempt succeeds
// exactly when a quorum can be had, the error has the right kind otherwise, nothing is
// left behind, and nothing of anybody else's is touched.
func TestAnAttemptOfEverySortSucceedsExactlyWhenAQuorumCanBeHad(t *testing.T) {
	t.Parallel()
	readWrite := []masterState{isFree, isRead, hasIntent, takenA, hasHash, hasBoard, expires, isDown}
	for _, test := range []struct {
		sort
		masters int
		states  []masterState
	}{
		{one, 5, []masterState{isFree, takenA, isDown}},
		{all, 3, []masterState{isFree, takenA, takenB, taken, isDown}},
		{slot, 3, []masterState{isFree, takenA, takenB, taken, isDown}},
		{writer, 3, readWrite},
		{reader, 3, readWrite},
	} {
		t.Run(test.name, func(t *testing.T) {
			inUnguardedSim(t, test.masters, func(t *testing.T, s *sim) {
				c := s.open(redlock.WithOutageWait(0))
				state := make([]masterState, test.masters)
				var combine func(i int)
				combine = func(i int) {
					if i == len(state) {
						attemptIn(t, s, c, test.sort, state)
						return
					}
					for _, state[i] = range test.states {
						combine(i + 1)
					}
				}
				combine(0)
			})
		})
	}
}

func attemptIn(t *testing.T, s *sim, c *redlock.Client, k sort, state []masterState) {
	t.Helper()
	keys, what := make([]string, 2), ""
	for i := range state {
		what += state[i].name + ", "
	}
	for i, key := range ab { // what comes late must not pass for the next one's
		keys[i] = key + " where " + what
	}
	need := len(state)/2 + 1
	votes := make(map[string]int) // by key, for a slot; else of the first
	var dead []int
	for i, m := range state {
		if m.prepare == nil {
			dead = append(dead, i)
			continue
		}
		m.prepare(s, i, keys[0], keys[1])
		free := map[string]bool{"one": m.a, "writer": m.a, "all": m.a && m.b, "any": m.a, "reader": m.read}[k.name]
		if free {
			votes[keys[0]]++
		}
		if m.b && k.name == slot.name {
			votes[keys[1]]++
		}
	}
	s.Kill(dead...)
	before := s.contents()
	possible := max(votes[keys[0]], votes[keys[1]]) >= need
	var l *redlock.Lock
	var err error
	switch {
	case k.name != slot.name:
		within(t, 0, func() { l, err = k.try(c, t.Context(), keys) })
	case possible: // if only in the second order that is tried: each has at least an even chance
		l, err = k.lock(c, t.Context(), keys, redlock.WithTries(64), atOnce())
	default:
		l, err = k.lock(c, t.Context(), keys, redlock.WithTries(4), atOnce())
	}
	synctest.Wait()
	switch {
	case possible && err != nil:
		t.Errorf("%s: %v", what, err)
	case possible:
		got := votes[l.Key()]
		if got < need {
			t.Errorf("%s: got %s, which is free on %d masters", what, l.Key(), got)
		}
		if k.name != slot.name { // others may have granted the other slot, and been told to release it
			s.wantOn(l, got)
		}
		if err := errors.Join(l.Verify(t.Context()), l.Extend(t.Context())); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		unlock(t, l)
	case err == nil:
		t.Errorf("%s: granted", what)
	case len(state)-len(dead) < need:
		wantExactly(t, err, redlock.ErrNoQuorum)
	default:
		wantExactly(t, err, redlock.ErrTaken)
		if h, ok := errors.AsType[*redlock.HeldError](err); !strings.Contains(err.Error(), "granted another of the keys") &&
			(!ok || h.Type == "string" && (h.Token != foreign || h.TTL <= 0)) {
			t.Errorf("%s: %v does not say who is in the way: %+v", what, err, h)
		}
	}
	if err != nil && k.name == one.name {
		wantCauses(t, err, len(state)-len(dead)-votes[keys[0]], len(dead))
	}
	wantUntouched := func() {
		t.Helper()
		synctest.Wait()
		if after := s.contents(); after != before {
			t.Errorf("%s: the masters had\n%s\nand have\n%s", what, before, after)
		}
	}
	wantUntouched()
	if len(dead) > 0 {
		s.Restart(true, dead...)
		time.Sleep(3 * time.Second) // until the client has connected again
		wantUntouched()
	}
	for _, m := range s.All {
		m.FlushAll()
	}
	for _, m := range c.Masters(t.Context()) {
		if !m.Connected {
			t.Fatalf("%s is not back: %v", m.Master, m.Err)
		}
	}
}

func TestAKeyOfAnotherTypeKeepsEverySortOut(t *testing.T) {
	onEachSort(t, func(t *testing.T, s *sim, k sort) {
		for _, key := range ab {
			s.do("HSET", key, "field", "value")
		}
		_, err := k.try(s.open(), t.Context(), ab)
		wantExactly(t, err, redlock.ErrTaken)
		if h, ok := errors.AsType[*redlock.HeldError](err); !ok || h.Type != "hash" {
			t.Errorf("%v does not name the type", err)
		}
		synctest.Wait()
		if keys := s.leftovers(); len(keys) != 10 {
			t.Errorf("keys now: %q", keys)
		}
	})
}

// A sorted set that does not expire with its last member is no read lock: everybody is told
// what it is, and nobody a time, however the call waits.
func TestASortedSetOfSomebodyElseIsNamedOnEveryWaitingPath(t *testing.T) {
	ways := map[string][]redlock.LockOption{
		"it queues": nil, "it is fair": {redlock.WithFairness()}, "it polls": {redlock.WithTries(3)},
		"it polls and is fair": {redlock.WithTries(3), redlock.WithFairness()},
	}
	for _, state := range []masterState{hasBoard, expires} {
		onEachSort(t, func(t *testing.T, s *sim, k sort) {
			for i := range s.All {
				for _, key := range ab {
					state.prepare(s, i, key, "")
				}
			}
			const want = "the key is a zset, not a lock"
			for way, opts := range ways {
				for _, patience := range []time.Duration{time.Millisecond, time.Second} {
					ctx, cancel := context.WithTimeout(t.Context(), patience)
					_, err := k.lock(s.open(), ctx, ab, opts...)
					cancel()
					if text := err.Error(); !errors.Is(err, redlock.ErrTaken) || !strings.Contains(text, want) || strings.Contains(text, "-1ns") {
						t.Errorf("%s, where there is %s: %v, want one that says %q", way, state.name, err, want)
					}
				}
			}
		})
	}
}

// Each sort of holder against each sort of contender, of the same client and of another.
func TestReadersShareAndAllOthersExclude(t *testing.T) {
	t.Parallel()
	inSim(t, 5, func(t *testing.T, s *sim) {
		same, other := s.open(), s.open()
		for _, holder := range sorts {
			for _, contender := range sorts {
				for name, c := range map[string]*redlock.Client{"the same client": same, "another client": other} {
					what := fmt.Sprintf("%s holds, %s of %s asks", holder.name, contender.name, name)
					key := []string{"key"}
					held := key
					if holder.name == all.name {
						held = []string{"before", "key"}
					}
					l := s.must(holder.lock(same, t.Context(), held))
					for call, acquire := range map[string]acquire{"lock": contender.lock, "try": contender.try} {
						var opts []redlock.LockOption
						if call == "lock" {
							opts = []redlock.LockOption{redlock.WithTries(1)}
						}
						l2, err := acquire(c, t.Context(), key, opts...)
						switch {
						case holder.name == reader.name && contender.name == reader.name:
							unlock(t, s.must(l2, err))
						case err == nil:
							t.Errorf("%s: both are in", what)
						default:
							wantExactly(t, err, redlock.ErrTaken)
						}
						synctest.Wait()
						if err := l.Verify(t.Context()); err != nil { // the rollback left it alone (S4)
							t.Errorf("%s: the holder suffered: %v", what, err)
						}
					}
					unlock(t, l)
					s.wantClean()
				}
			}
		}
	})
}

// A lock that nobody else wants costs each master a command to get it and one to give it
// back, however many keys it has.
func TestAnUncontendedLockOfEverySortCostsTwoCommandsAMaster(t *testing.T) {
	onEachSort(t, func(t *testing.T, s *sim, k sort) {
		c := s.open()
		want := map[string]int{"EVALSHA": 2}
		if k.release == script.Release {
			want = map[string]int{"SET": 1, "EVALSHA": 1}
		}
		unlock(t, s.must(k.lock(c, t.Context(), ab)))
		for i, m := range s.All {
			for _, command := range []string{"SET", "EVALSHA", "EVAL", "ZREM", "PUBLISH"} {
				n := m.Commands()[command]
				if k.name == slot.name && command == "EVALSHA" && n == 3 {
					continue // it granted the other slot, and was told to release that
				}
				if n != want[command] {
					t.Errorf("master %d was sent %d %s, want %d", i, n, command, want[command])
				}
			}
		}
		s.wantClean()
	})
}

// What frozen masters grant too late is released behind its own grant.
func TestALateGrantOfEverySortIsRolledBack(t *testing.T) {
	onEachSort(t, func(t *testing.T, s *sim, k sort) {
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
			if left := s.leftovers(); len(left) != 0 {
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

// An acquisition or extension that finds that the master does not know its script must
// not be sent again behind the release of its lock.
func TestNothingOfAnySortIsSentAgainAfterUnlock(t *testing.T) {
	onEachSort(t, func(t *testing.T, s *sim, k sort) {
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
		most := 1
		if k.name == slot.name {
			most = 2 // the other slot is released, too
		}
		if n := s.All[0].Commands()["EVAL"] - before; n > most {
			t.Errorf("%d scripts were sent in full, want the release alone", n)
		}

		forget()
		l := s.must(k.lock(c, t.Context(), ab))
		forget()
		// A master that asked for the script after the decision for another of several keys
		// has nothing: the three that go on are such that have the lock.
		frozen := slices.DeleteFunc([]int{0, 1, 2, 3, 4}, func(i int) bool { return s.has(i, l) })
		for i := 0; len(frozen) < 2; i++ {
			if !slices.Contains(frozen, i) {
				frozen = append(frozen, i)
			}
		}
		s.Freeze(frozen...)
		if err := l.Extend(t.Context()); err != nil {
			t.Error(err)
		}
		unlock(t, l)
		s.Thaw(frozen...)
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
	onEachSort(t, func(t *testing.T, s *sim, k sort) {
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
func TestAMasterThatForgotALockOfAnySortCountsFromTheNextExtensionOn(t *testing.T) {
	const forgetful = 1 // not a pilot, which is told of every release
	empty := func(s *sim, _ *redlock.Lock) {
		s.Restart(false, forgetful)
		time.Sleep(3 * time.Second)
	}
	noLastKey := func(s *sim, l *redlock.Lock) { s.Ask(forgetful, "DEL", l.Keys()[len(l.Keys())-1]) }
	for _, test := range []struct {
		how    string
		sorts  []sort
		forget func(s *sim, l *redlock.Lock)
	}{
		{"down when it was acquired", sorts, empty},
		{"restarted empty", sorts, empty},
		{"without its last key", sorts, noLastKey},
		{"with another reader", []sort{reader}, func(s *sim, l *redlock.Lock) { s.Ask(forgetful, "ZREM", "a", l.Token()) }},
		{"expired by itself", []sort{reader}, func(s *sim, l *redlock.Lock) { s.Ask(forgetful, "ZADD", "a", time.Now().UnixMilli()-1, l.Token()) }},
	} {
		for _, k := range test.sorts {
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
					wantExactly(t, l.Extend(t.Context()), redlock.ErrNoQuorum)
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

// A minority that is taken does no harm. One key on a majority is enough to lose all of
// them: the others are released with it.
func TestEverySortIsLostWithAMajorityOfAnyOfItsKeys(t *testing.T) {
	t.Parallel()
	onEachSort(t, func(t *testing.T, s *sim, k sort) {
		c := s.open(redlock.WithGuard(redlock.GuardOff))
		held := ab[:1]
		if k.name == all.name {
			held = []string{"a", "b", "c"}
		}
		lost := func(reason redlock.Reason, strike func(i int, key string)) {
			for _, key := range held {
				l := s.must(k.lock(c, t.Context(), held))
				if reason == redlock.ReasonTaken {
					strike(0, key)
					strike(1, key)
					time.Sleep(30 * time.Second)
					if l.Context().Err() != nil {
						t.Fatal(context.Cause(l.Context()))
					}
				} else {
					strike(0, key)
					strike(1, key)
				}
				strike(2, key)
				within(t, 10*time.Second/3, func() { <-l.Context().Done() }) // the next renewal
				wantReason(t, context.Cause(l.Context()), reason)
				s.wantOn(l, 0)
				wantExactly(t, l.Unlock(t.Context()), redlock.ErrNotHeld, redlock.ErrLost)
				if n := s.holders(key, "thief"); reason == redlock.ReasonTaken && n != 3 {
					t.Errorf("the thief has %d keys left", n)
				}
				for i := range s.All {
					s.Ask(i, "DEL", key)
				}
				s.wantClean()
			}
		}
		lost(redlock.ReasonTaken, func(i int, key string) { s.Ask(i, "SET", key, "thief") })
		lost(redlock.ReasonExpired, func(i int, key string) { s.Ask(i, "DEL", key) })
	})
}

// Many clients that want what overlaps, while masters freeze, die and come back: a writer is
// alone, and everybody gets in.
func TestNobodyIsInsideBesideAWriterWhileMastersComeAndGo(t *testing.T) {
	t.Parallel()
	type caller struct {
		sort
		keys []string
	}
	abc := []string{"a", "b", "c"}
	var sets, readWrite []caller
	for _, keys := range [][]string{{"a", "b"}, {"b", "c"}, {"c", "a"}, abc, {"c", "d"}, {"d", "a"}} {
		sets = append(sets, caller{all, keys})
	}
	for range 4 {
		readWrite = append(readWrite, caller{writer, abc}, caller{reader, abc})
	}
	for name, callers := range map[string][]caller{
		"one": slices.Repeat([]caller{{one, abc}}, 8), "sets": sets, "slots": slices.Repeat([]caller{{slot, abc}}, 8), "readers and writers": readWrite,
	} {
		t.Run(name, func(t *testing.T) {
			inUnguardedSim(t, 5, func(t *testing.T, s *sim) {
				var mu sync.Mutex
				readers, writers, together := map[string]int{}, map[string]int{}, 0
				move := func(l *redlock.Lock, r, w int) {
					mu.Lock()
					defer mu.Unlock()
					if l.Remaining() == 0 {
						t.Error("lost with a majority up all the time")
					}
					for _, key := range l.Keys() {
						readers[key] += r
						writers[key] += w
						together = max(together, readers[key])
						if writers[key] > 1 || writers[key] == 1 && readers[key] > 0 {
							t.Errorf("%d readers and %d writers of %s are in", readers[key], writers[key], key)
						}
					}
				}
				var wg sync.WaitGroup
				for _, k := range callers {
					c := s.open(redlock.WithTTL(time.Second))
					wg.Go(func() {
						for round := range 8 {
							l, err := k.lock(c, t.Context(), k.keys)
							if err != nil {
								t.Error(err)
								return
							}
							in := [2]int{0, 1}
							if k.name == reader.name {
								in = [2]int{1, 0}
							}
							move(l, in[0], in[1])
							time.Sleep(20 * time.Millisecond)
							if k.name == writer.name && round%2 == 0 {
								move(l, 1, -1) // the reader from the first byte on
								in = [2]int{1, 0}
								_ = l.Downgrade(t.Context())
							}
							if in[0] == 1 {
								time.Sleep(200 * time.Millisecond)
							}
							move(l, -in[0], -in[1])
							_ = l.Unlock(context.Background()) // two masters may be away
						}
					})
				}
				withFaults(s, wg.Wait)
				if name == "readers and writers" && together < 2 {
					t.Errorf("%d readers were in together: want several", together)
				}
				time.Sleep(5 * time.Second)
				s.wantClean()
			})
		})
	}
}

package redlock_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// How a lock was lost is said once and for all, whatever happens later.
func TestTheReasonOfALossIsToldApartAndStays(t *testing.T) {
	all := func(s *sim, f func(i int)) {
		for i := range s.All {
			f(i)
		}
	}
	for _, test := range []struct {
		name   string
		opts   []redlock.LockOption
		strike func(s *sim)
		reason redlock.Reason
		cause  bool // the error names the masters
	}{
		{"a lease that ran out", []redlock.LockOption{redlock.WithLease(2 * time.Second)}, func(*sim) {},
			redlock.ReasonExpired, false},
		{"the last renewal allowed", []redlock.LockOption{redlock.WithTTL(3 * time.Second), redlock.WithRenewal(redlock.Renewal{MaxCount: 1})},
			func(*sim) {}, redlock.ReasonExpired, false},
		{"forgotten", nil, func(s *sim) { all(s, func(i int) { s.All[i].FlushAll() }) }, redlock.ReasonExpired, true},
		{"taken", nil, func(s *sim) { all(s, func(i int) { _ = s.All[i].Set("key", "thief", time.Hour) }) },
			redlock.ReasonTaken, true},
		// Of any three answers, which decide it, at least one says so.
		{"taken on three, forgotten on the others", nil, func(s *sim) {
			all(s, func(i int) { s.All[i].FlushAll() })
			for i := range 3 {
				_ = s.All[i].Set("key", "thief", time.Hour)
			}
		}, redlock.ReasonTaken, true},
		{"frozen", nil, func(s *sim) { s.Freeze(0, 1, 2) }, redlock.ReasonUnreachable, true},
		{"killed", nil, func(s *sim) { s.Kill(0, 1, 2) }, redlock.ReasonUnreachable, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			inUnguardedSim(t, 5, func(t *testing.T, s *sim) {
				c := s.open()
				l := mustLock(t, c, "key", test.opts...)
				test.strike(s)
				<-l.Context().Done()
				cause := context.Cause(l.Context())
				wantReason(t, cause, test.reason)
				if lost, _ := errors.AsType[*redlock.LostError](cause); lost == nil || (lost.Err != nil) != test.cause {
					t.Errorf("because of %v", cause)
				}
				if l.Remaining() != 0 {
					t.Errorf("%v remain", l.Remaining())
				}
				// Everything is well again: the lock stays lost.
				s.Thaw(0, 1, 2)
				for i, m := range s.All {
					if !m.Up() {
						s.Restart(true, i)
					}
					_ = m.Set("key", l.Token(), time.Hour)
				}
				time.Sleep(5 * time.Second)
				wantExactly(t, l.Extend(t.Context()), redlock.ErrLost, redlock.ErrNotHeld)
				wantExactly(t, l.Verify(t.Context()), redlock.ErrLost, redlock.ErrNotHeld)
				_ = c.Close()
				err := l.Unlock(t.Context())
				wantReason(t, err, test.reason)
				if again := context.Cause(l.Context()); !errors.Is(again, cause) {
					t.Errorf("the cause was %v and is %v", cause, again)
				}
			})
		})
	}
}

// Every renewal is executed in time, and its answers are later than the command timeout.
// What is held stays held while an answer takes less than an eighth of the TTL, and less
// than the stall limit.
func TestLateAnswersLoseNoLock(t *testing.T) {
	for _, ttl := range []time.Duration{5 * time.Second, 10 * time.Second, 30 * time.Second} {
		for _, late := range []time.Duration{150 * time.Millisecond, 350 * time.Millisecond, 600 * time.Millisecond, 900 * time.Millisecond} {
			if late > ttl/8 {
				continue
			}
			inSim(t, 5, func(t *testing.T, s *sim) {
				var by atomic.Int64
				s.placeAway(func(int) time.Duration { return time.Duration(by.Load()) })
				c := s.open(redlock.WithTTL(ttl))
				l := mustLock(t, c, "key")
				by.Store(int64(late))
				time.Sleep(10 * ttl)
				if l.Remaining() == 0 {
					t.Errorf("TTL %v, answers %v late: %v", ttl, late, context.Cause(l.Context()))
				}
				by.Store(0)
				time.Sleep(ttl / 3)
				unlock(t, l)
			})
		}
	}
}

// From the moment Unlock begins no renewal is sent, wherever the keeper is just
// then: one would set the key again behind the release.
func TestUnlockAndRenewalMayMeet(t *testing.T) {
	t.Parallel()
	inSim(t, 3, func(t *testing.T, s *sim) {
		c := s.open()
		for range 100 {
			l := mustLock(t, c, "key", redlock.WithTTL(200*time.Millisecond), redlock.WithRenewal(redlock.Renewal{Every: 5 * time.Millisecond}))
			time.Sleep(time.Duration(rand.IntN(12_000)) * time.Microsecond)
			if rand.IntN(2) == 0 {
				time.Sleep(time.Until(time.Now().Truncate(5 * time.Millisecond).Add(5 * time.Millisecond))) // when one may be due
			}
			unlock(t, l)
			synctest.Wait()
			renewals := s.All[0].Commands()["EVALSHA"]
			time.Sleep(20 * time.Millisecond)
			s.wantClean()
			if n := s.All[0].Commands()["EVALSHA"]; n != renewals {
				t.Fatalf("%d commands after Unlock", n-renewals)
			}
		}
	})
}

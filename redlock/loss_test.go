package redlock_test

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

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

package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// Every renewal is executed in time, but its answers come after the command timeout. A lock stays
// held while an answer takes less than an eighth of the TTL and less than the stall limit.
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

// A renewal sets the key again where it is gone. If it were decided before all masters have said
// that, the next renewal would find the key, even if another client had the lock meanwhile.
func TestALockThatIsGoneWhereverMastersAnswerIsLostAtItsNextRenewal(t *testing.T) {
	away := map[string]func(s *sim){
		"none is away":         func(*sim) {},
		"one is down":          func(s *sim) { s.Kill(0) },
		"one is frozen":        func(s *sim) { s.Freeze(0) },
		"one may not vote":     func(s *sim) { s.Restart(false, 0) },
		"one down, one frozen": func(s *sim) { s.Kill(0); s.Freeze(1) },
	}
	for what, fails := range away {
		for n, most := range map[int]int{3: 1, 4: 1, 5: 2} {
			if most == 1 && what == "one down, one frozen" {
				continue
			}
			t.Run(fmt.Sprint(n, ", ", what), func(t *testing.T) {
				inSim(t, n, func(t *testing.T, s *sim) {
					s.placeAway(func(i int) time.Duration { return time.Duration(i) * 5 * time.Millisecond })
					c := s.open(redlock.WithTTL(3 * time.Second))
					l := mustLock(t, c, "key")
					fails(s)
					time.Sleep(1500 * time.Millisecond)
					if l.Remaining() == 0 {
						t.Fatalf("it is lost before: %v", context.Cause(l.Context()))
					}
					for i := range s.All {
						_ = s.All[i].Set("key", "", time.Millisecond) // it expires at once
					}
					time.Sleep(1200 * time.Millisecond)
					lost, ok := errors.AsType[*redlock.LostError](context.Cause(l.Context()))
					if !ok || lost.Planned {
						t.Errorf("%v, with %v left", context.Cause(l.Context()), l.Remaining())
					}
				})
			})
		}
	}
}

package redlock_test

import (
	"context"
	"sync/atomic"
	"testing"
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

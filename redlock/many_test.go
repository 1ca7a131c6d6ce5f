package redlock_test

import (
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// A lower limit on what waits for a master would leave locks behind. A limit that exempts only
// releases would refuse the renewals of other locks meanwhile.
func TestLocksThatAreUnlockedAtOnceLeaveNothingAndNoRenewalIsRefusedMeanwhile(t *testing.T) {
	inSim(t, 1, func(t *testing.T, s *sim) {
		const many, others = 30_000, 100
		var distance atomic.Int64
		s.placeAway(func(int) time.Duration { return time.Duration(distance.Load()) })
		var renewals atomic.Int32
		c := s.open(redlock.WithTTL(10*time.Second), redlock.WithTrace(&redlock.Trace{Renewal: func(i redlock.ExtendInfo) {
			if renewals.Add(1); i.Err != nil {
				t.Errorf("%s is not renewed: %v", i.Key, i.Err)
			}
		}}))
		held, unlocked := make([]*redlock.Lock, others), make([]*redlock.Lock, many)
		for i := range unlocked {
			unlocked[i] = mustLock(t, c, strconv.Itoa(i), redlock.WithLease(time.Minute))
		}
		for i := range held {
			held[i] = mustLock(t, c, "held"+strconv.Itoa(i), redlock.WithRenewal(redlock.Renewal{Every: 100 * time.Millisecond}))
		}
		distance.Store(int64(100 * time.Millisecond)) // so that the renewals meet the releases
		before := renewals.Load()
		var wg sync.WaitGroup
		for _, l := range unlocked {
			wg.Go(func() {
				if err := l.Unlock(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		time.Sleep(time.Second) // a renewal may wait behind several flights of releases
		if n := renewals.Load() - before; n < others/2 {
			t.Errorf("%d renewals meanwhile, want most of the %d", n, others)
		}
		for _, l := range held {
			unlock(t, l)
		}
		time.Sleep(100 * time.Millisecond)
		s.wantClean()
	})
}

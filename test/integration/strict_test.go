package integration

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/redlock"
)

// When the first client is granted the lock, the clocks of all masters are behind by what its TTL
// allows. When the next client asks, they are ahead by what that client's TTL allows. A longer TTL
// allows more.
func TestStrictLocksWithDifferentTTLsNeverOverlap(t *testing.T) {
	t.Parallel()
	if err := redistest.ClockAvailable(); err != nil {
		t.Skipf("the clocks of redis-servers cannot be moved here: %v", err)
	}
	p := startConfigured(t, redistest.Config{MovableClock: true}, 3)
	p.dropFences()
	turn := func(off time.Duration) {
		t.Helper()
		for _, s := range p.servers {
			if err := s.SetClock(off); err != nil {
				t.Fatal(err)
			}
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	fleet := []redlock.Option{redlock.WithGuard(redlock.GuardStrict), redlock.WithMaxTTL(5 * time.Second), redlock.WithTTL(5 * time.Second)}
	a, b := p.open(fleet...), p.open(fleet...)
	s := time.Second
	allowed := func(ttl time.Duration) time.Duration { return ttl/10 - 20*time.Millisecond }
	for _, ttls := range [][2]time.Duration{{s, 5 * s}, {2 * s, 5 * s}, {3 * s, 5 * s}, {2 * s, 3 * s}, {5 * s, s}} {
		key := fmt.Sprint(ttls) // an earlier lease has not ended by a clock that was set back
		turn(-allowed(ttls[0]))
		held := mustTry(t, a, key, redlock.WithLease(ttls[0]))
		until := held.ValidUntil()
		turn(allowed(ttls[1]))
		var next *redlock.Lock
		eventually(t, "the next client has the lock", func() (ok bool) {
			var err error
			next, err = b.TryLock(ctx, key, redlock.WithTTL(ttls[1]))
			return err == nil
		})
		if left := time.Until(until); left > 0 {
			t.Errorf("TTLs of %v and %v: two hold the lock, the first for %v more", ttls[0], ttls[1], left)
		}
		mustUnlock(t, next)
	}
	turn(0)
}

package redlock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// The guard's judgement of masters and strict grants together.
func TestAStrictFleetGrantsFencedLocksAndRefusesClocksThatAreOff(t *testing.T) {
	t.Parallel()
	inSim(t, 5, func(t *testing.T, s *sim) {
		strict := redlock.WithGuard(redlock.GuardStrict)
		a := s.open(strict, redlock.WithFencing())
		time.Sleep(2 * time.Minute) // the quarantine of a fleet that nobody has declared new
		synctest.Wait()
		b := s.open(strict, redlock.WithFencing())
		last := uint64(0)
		for range 3 {
			l := mustLock(t, a, "key")
			q := s.queue(b, "key")
			time.Sleep(time.Minute)
			unlock(t, l)
			next := q.mustHave(t)
			if l.Fence() <= last || next.Fence() <= l.Fence() {
				t.Errorf("tokens %d, %d, %d", last, l.Fence(), next.Fence())
			}
			last = next.Fence()
			unlock(t, next)
		}

		held := mustLock(t, a, "key", redlock.WithLease(10*time.Second))
		s.turnClocks(time.Minute, 0, 1, 2)
		time.Sleep(300 * time.Millisecond)
		s.turnClocks(0, 0, 1, 2)
		_, err := b.TryLock(t.Context(), "key")
		wantExactly(t, err, redlock.ErrTaken)
		_ = held.Unlock(t.Context())

		for _, off := range []time.Duration{time.Hour, -time.Hour} {
			c := s.open(strict, redlock.WithClock(&skewedClock{off: off}))
			_, err := c.TryLock(t.Context(), "key")
			wantExactly(t, err, redlock.ErrNoQuorum)
			wantOff(t, err, -off)
		}
	})
}

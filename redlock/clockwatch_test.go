package redlock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/redlock"
)

// The clock is right at every moment at which it would be read if readings were as far apart as
// they may be.
func TestAClockThatIsSetInTheRhythmOfItsReadingsIsReported(t *testing.T) {
	inSim(t, 3, func(t *testing.T, s *sim) {
		reports := 0
		s.open(redlock.WithTrace(&redlock.Trace{Clock: func(string, *drift.Deviation, time.Time) { reports++ }}))
		const rhythm, right = 5 * time.Second, 50 * time.Millisecond
		for range 20 {
			time.Sleep(right / 2)
			s.turnClocks(time.Minute, 1)
			time.Sleep(rhythm - right)
			s.turnClocks(0, 1)
			time.Sleep(right / 2)
			synctest.Wait()
		}
		if reports == 0 {
			t.Errorf("nothing was reported within %v", 20*rhythm)
		}
	})
}

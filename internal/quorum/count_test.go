package quorum

import (
	"testing"
	"testing/synctest"
	"time"
)

// wantWait waits for a count, and fails unless that takes exactly this long.
func (c *Count) wantWait(t *testing.T, want time.Duration) {
	t.Helper()
	began := time.Now()
	if none := c.Wait(time.Second); none != (c.Load() == 0) {
		t.Errorf("the count is %d, and Wait says %t", c.Load(), none)
	}
	if took := time.Since(began); took != want {
		t.Errorf("waited for %v, want %v", took, want)
	}
}

// Close waits until nothing is in flight, but no longer than its limit.
func TestACountIsWaitedForUntilItIsZero(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var none, some, many Count
		none.wantWait(t, 0)
		some.Add()
		some.Add()
		time.AfterFunc(10*time.Millisecond, some.Done)
		time.AfterFunc(30*time.Millisecond, some.Done)
		some.wantWait(t, 30*time.Millisecond)
		many.Add()
		many.wantWait(t, time.Second)
		if many.Load() != 1 {
			t.Errorf("%d", many.Load())
		}
	})
}

// A count that fell to zero and rose again before anybody looked is still waited for.
func TestACountThatRisesAgainIsStillWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n Count
		n.Add()
		n.Wait(time.Millisecond) // from now on Done signals the fall to zero
		n.Done()
		n.Add()
		time.AfterFunc(20*time.Millisecond, n.Done)
		n.wantWait(t, 20*time.Millisecond)
	})
}

package integration

import (
	"slices"
	"testing"
	"time"

	"github.com/redquorum/redquorum/internal/rig"
)

// settleBound is how long the tests wait for what must happen. It is generous: who
// reaches it has met something that is broken, not slow. But it is not above the TTL of
// locks, which would free keys that nobody has released.
const settleBound = 10 * time.Second

// lateness is how late the end of a context may be noticed: the goroutine that
// waits for it has to be given a processor.
const lateness = 500 * time.Millisecond

// eventually waits for a condition, for settleBound at the most.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	rig.Within(t, settleBound, what, condition)
}

// timed is how long f takes.
func timed(f func()) time.Duration {
	began := time.Now()
	f()
	return time.Since(began)
}

// latencies are how long operations took.
type latencies []time.Duration

// wantQuorumLatency fails where operations waited for a timeout: at 250 ms and
// a median below 25 ms, say, they did not. One in ten may be late, for the
// machine is shared.
func (l latencies) wantQuorumLatency(t *testing.T, what string, timeout time.Duration) {
	t.Helper()
	sorted := slices.Sorted(slices.Values(l))
	median, late := sorted[len(sorted)/2], 0
	for _, d := range sorted {
		if d > timeout/2 {
			late++
		}
	}
	t.Logf("%s: %d times, median %v, longest %v", what, len(sorted), median, sorted[len(sorted)-1])
	if median > timeout/10 || late > len(sorted)/10 {
		t.Errorf("%s: median %v, and %d of %d took more than %v: want a median below %v, as with all masters",
			what, median, late, len(sorted), timeout/2, timeout/10)
	}
}

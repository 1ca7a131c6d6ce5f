package bench

import (
	"slices"
	"testing"
	"time"
)

// percentiles returns the median and the 99th percentile. It sorts its argument, which
// must not be empty.
func percentiles(took []time.Duration) (p50, p99 time.Duration) {
	slices.Sort(took)
	return percentile(took, 50), percentile(took, 99)
}

// percentile is that of sorted values, of which there must be one at least, by nearest
// rank: a value that occurred, none in between.
func percentile(sorted []time.Duration, percent int) time.Duration {
	return sorted[(len(sorted)*percent+99)/100-1]
}

func TestPercentilesAreValuesThatOccurred(t *testing.T) {
	for _, test := range []struct {
		values        int // 1 to that
		p50, p90, p99 time.Duration
	}{
		{1, 1, 1, 1}, {2, 1, 2, 2}, {3, 2, 3, 3}, {10, 5, 9, 10}, {100, 50, 90, 99}, {101, 51, 91, 100},
	} {
		took := make([]time.Duration, test.values)
		for i := range took {
			took[i] = time.Duration(test.values - i)
		}
		if p50, p99 := percentiles(took); p50 != test.p50 || p99 != test.p99 || percentile(took, 90) != test.p90 {
			t.Errorf("of 1 to %d: p50 %d, p90 %d, p99 %d: want %+v", test.values, p50, percentile(took, 90), p99, test)
		}
	}
}

package bench

import (
	"math"
	"slices"
	"testing"
	"time"
)

// percentiles returns the median and the 99th percentile by nearest rank: values
// that occurred, none in between. It sorts its argument, which must not be empty.
func percentiles(took []time.Duration) (p50, p99 time.Duration) {
	slices.Sort(took)
	at := func(p float64) time.Duration {
		return took[int(math.Ceil(p*float64(len(took))))-1]
	}
	return at(0.50), at(0.99)
}

func TestPercentiles(t *testing.T) {
	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[i] = time.Duration(100 - i)
	}
	for _, test := range []struct {
		name     string
		took     []time.Duration
		p50, p99 time.Duration
	}{
		{"one value", []time.Duration{7}, 7, 7},
		{"two values", []time.Duration{9, 3}, 3, 9},
		{"three values", []time.Duration{9, 3, 5}, 5, 9},
		{"1 to 100", hundred, 50, 99},
		{"1 to 101", append(slices.Clone(hundred), 101), 51, 100},
	} {
		if p50, p99 := percentiles(test.took); p50 != test.p50 || p99 != test.p99 {
			t.Errorf("%s: p50 %d, p99 %d: want %d, %d", test.name, p50, p99, test.p50, test.p99)
		}
	}
}

// Package measure sums up what was measured.
package measure

import (
	"math"
	"math/bits"
	"time"
)

// Percentile is the smallest value that p percent of the sorted values do not
// exceed; 0 of none.
func Percentile(sorted []time.Duration, p int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	rank := (len(sorted)*p + 99) / 100
	return sorted[max(rank, 1)-1]
}

// A Histogram counts durations, each to within 1.6 percent, in a fixed amount of
// memory (30 KiB). The zero Histogram is ready to use. It is not safe for
// concurrent use.
type Histogram struct {
	buckets [buckets]uint64
	count   uint64
	max     time.Duration
}

// Durations that differ in their first 7 bits alone have a bucket of their own.
const (
	mantissa = 6
	buckets  = (64 - mantissa) << mantissa
)

// Add counts a duration; a negative one as 0.
func (h *Histogram) Add(d time.Duration) {
	d = max(d, 0)
	h.buckets[bucketOf(uint64(d))]++
	h.count++
	h.max = max(h.max, d)
}

// Merge adds what another Histogram has counted.
func (h *Histogram) Merge(o *Histogram) {
	for i, n := range o.buckets {
		h.buckets[i] += n
	}
	h.count += o.count
	h.max = max(h.max, o.max)
}

// Count is how many durations there are.
func (h *Histogram) Count() uint64 { return h.count }

// Max is the longest one, exactly; 0 of none.
func (h *Histogram) Max() time.Duration { return h.max }

// Percentile is what p percent, 0 to 100, of the durations do not exceed; 0 of
// none.
func (h *Histogram) Percentile(p float64) time.Duration {
	rank := max(uint64(math.Ceil(p/100*float64(h.count))), 1)
	var seen uint64
	for i, n := range h.buckets {
		if seen += n; seen >= rank {
			return min(time.Duration(highestOf(i)), h.max)
		}
	}
	return 0
}

// bucketOf: below 2^7 each value has its own; above, the exponent and the 6 bits
// behind the first one choose.
func bucketOf(v uint64) int {
	shift := max(bits.Len64(v)-mantissa-1, 0)
	return shift<<mantissa + int(v>>shift)
}

// highestOf is the greatest value of a bucket.
func highestOf(i int) uint64 {
	if i < 2<<mantissa {
		return uint64(i)
	}
	shift := i>>mantissa - 1
	return (uint64(i-shift<<mantissa)+1)<<shift - 1
}

package metrics

import (
	"sync/atomic"
	"time"
)

// Upper bounds of the buckets, ascending.
var (
	waitBounds = []time.Duration{
		500 * time.Microsecond, time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond, 10 * time.Millisecond,
		25 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond,
		time.Second, 2500 * time.Millisecond, 5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute,
	}
	holdBounds = []time.Duration{
		time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond,
		500 * time.Millisecond, time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute,
		5 * time.Minute, 30 * time.Minute, time.Hour, 6 * time.Hour,
	}
	replyBounds = []time.Duration{
		100 * time.Microsecond, 250 * time.Microsecond, 500 * time.Microsecond, time.Millisecond, 2500 * time.Microsecond,
		5 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond,
		250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2500 * time.Millisecond,
	}
)

// mostBuckets is the longest list of bounds, and one for what is above.
const mostBuckets = 17

// A histogram counts durations. The zero value is ready; all calls must give
// the same bounds.
type histogram struct {
	buckets [mostBuckets]atomic.Uint64
	sum     atomic.Int64 // ns; centuries
}

func (h *histogram) observe(bounds []time.Duration, d time.Duration) {
	i := 0
	for i < len(bounds) && d > bounds[i] {
		i++
	}
	h.buckets[i].Add(1)
	h.sum.Add(int64(max(d, 0)))
}

// snapshot is nil where nothing was counted. Count is that of the buckets, so
// the snapshot agrees with itself while others count on.
func (h *histogram) snapshot(bounds []time.Duration) *Histogram {
	s := &Histogram{Sum: time.Duration(h.sum.Load()).Seconds(), Buckets: make([]Bucket, len(bounds))}
	for i, b := range bounds {
		s.Count += h.buckets[i].Load()
		s.Buckets[i] = Bucket{UpperBound: b.Seconds(), Count: s.Count}
	}
	s.Count += h.buckets[len(bounds)].Load()
	if s.Count == 0 {
		return nil
	}
	return s
}

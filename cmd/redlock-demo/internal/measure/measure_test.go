package measure

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestEveryValueIsInTheBucketThatHoldsIt(t *testing.T) {
	t.Parallel()
	last := -1
	check := func(v uint64) {
		i := bucketOf(v)
		if i < 0 || i >= buckets || highestOf(i) < v || i > 0 && highestOf(i-1) >= v {
			t.Fatalf("%d is in bucket %d, up to %d", v, i, highestOf(min(max(i, 0), buckets-1)))
		}
		if e := float64(highestOf(i)-v) / max(float64(v), 1); e > 0.016 {
			t.Fatalf("%d is taken for %d", v, highestOf(i))
		}
	}
	for v := range uint64(5000) {
		check(v)
		if i := bucketOf(v); i != last && i != last+1 {
			t.Fatalf("bucket %d follows %d", i, last)
		} else {
			last = i
		}
	}
	for shift := range 63 {
		check(1 << shift)
		check(1<<shift - 1)
		check(1<<shift + 1)
	}
	check(math.MaxInt64)
}

func TestAHistogramsPercentilesAreThoseOfItsValues(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	var h, other Histogram
	var values []time.Duration
	for i := range 10_000 {
		d := time.Duration(math.Exp(rng.Float64()*15 + 5))
		values = append(values, d)
		if i%3 == 0 {
			other.Add(d)
		} else {
			h.Add(d)
		}
	}
	h.Merge(&other)
	slices.Sort(values)
	for _, p := range []int{1, 50, 90, 99, 100} {
		want, got := Percentile(values, p), h.Percentile(float64(p))
		if got < want || float64(got-want) > 0.016*float64(want) {
			t.Errorf("p%d: %d, want %d", p, got, want)
		}
	}
	if h.Count() != 10_000 || h.Max() != values[len(values)-1] || h.Percentile(0) < values[0] {
		t.Errorf("%d values up to %d", h.Count(), h.Max())
	}
	var empty Histogram
	if empty.Percentile(50) != 0 || empty.Max() != 0 {
		t.Error("an empty one has percentiles")
	}
	empty.Add(-5)
	if empty.Max() != 0 || empty.Count() != 1 {
		t.Error("a negative duration does not count as 0")
	}
}

func TestPercentile(t *testing.T) {
	t.Parallel()
	upTo := func(n int) []time.Duration {
		d := make([]time.Duration, n)
		for i := range d {
			d[i] = time.Duration(i + 1)
		}
		return d
	}
	for _, test := range []struct {
		of, p int
		want  time.Duration
	}{
		{0, 50, 0}, {1, 50, 1}, {1, 99, 1}, {2, 50, 1}, {2, 99, 2}, {3, 50, 2},
		{99, 99, 99}, {100, 99, 99}, {101, 99, 100}, {200, 50, 100}, {200, 99, 198},
	} {
		if got := Percentile(upTo(test.of), test.p); got != test.want {
			t.Errorf("p%d of 1 to %d: %d, want %d", test.p, test.of, got, test.want)
		}
	}
}

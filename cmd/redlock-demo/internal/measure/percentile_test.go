package measure

import (
	"testing"
	"time"
)

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

package release

import (
	"testing"
	"time"
)

func TestWhenAReleasedLockIsFreeForOthers(t *testing.T) {
	t.Parallel()
	const s = time.Second
	for _, test := range []struct {
		masters int
		left    []time.Duration
		want    time.Duration
	}{
		{5, []time.Duration{5 * s, 1 * s, 4 * s, 2 * s, 3 * s}, 3 * s}, // three are free then
		{5, []time.Duration{3 * s, 2 * s, 4 * s}, 2 * s},
		{3, []time.Duration{3 * s, 2 * s}, 2 * s},
		{4, []time.Duration{1 * s, 2 * s, 3 * s, 4 * s}, 3 * s},
		{1, []time.Duration{7 * s}, 7 * s},
	} {
		if got := freeIn(test.left, test.masters); got != test.want {
			t.Errorf("%d masters, %v: %v, want %v", test.masters, test.left, got, test.want)
		}
	}
}

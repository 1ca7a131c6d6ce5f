package drift

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"
)

var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestSub(t *testing.T) {
	const s = time.Second
	at := func(mono, boot, wall time.Duration) Instant { return At(mono, boot, epoch.Add(wall)) }
	noBoot := func(mono, wall time.Duration) Instant { return AtWithoutBoot(mono, epoch.Add(wall)) }
	for _, tt := range []struct {
		name           string
		earlier, later Instant
		want           time.Duration
	}{
		{"boot time in the later reading only", noBoot(0, 0), at(s, 60*s, 2*s), 2 * s},
		{"boot time in the earlier reading only", at(0, 60*s, 0), noBoot(s, 2*s), 2 * s},
		{"wall clocks beyond 64 bits are held at the limit", AtWithoutBoot(0, epoch.AddDate(1000, 0, 0)), AtWithoutBoot(0, epoch.AddDate(2000, 0, 0)), 0},
		{"no reading to start from", Instant{}, at(0, 0, 0), longest},
		{"no reading to end at", at(0, 0, 0), Instant{}, longest},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.later.Sub(tt.earlier); got != tt.want {
				t.Errorf("Sub = %v, want %v", got, tt.want)
			}
		})
	}
}

func TestSubIsTheLargestOfAllDifferences(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	duration := func() time.Duration { return time.Duration(int64(r.Uint64()) >> r.IntN(63)) }
	// Clamps what does not fit: a saturated difference is still the largest.
	minus := func(a, b int64) int64 {
		d := new(big.Int).Sub(big.NewInt(a), big.NewInt(b))
		switch {
		case d.IsInt64():
			return d.Int64()
		case d.Sign() > 0:
			return math.MaxInt64
		}
		return math.MinInt64
	}
	for range 50_000 {
		m0, b0, w0, m1, b1, w1 := duration(), duration(), duration(), duration(), duration(), duration()
		start, end := At(m0, b0, time.Unix(0, int64(w0))), At(m1, b1, time.Unix(0, int64(w1)))
		mono, boot, wall := minus(int64(m1), int64(m0)), minus(int64(b1), int64(b0)), minus(int64(w1), int64(w0))

		if got, want := end.Sub(start), max(0, mono, boot, wall); int64(got) != want {
			t.Fatalf("%+v.Sub(%+v) = %d, want %d", end, start, got, want)
		}
		end = AtWithoutBoot(m1, time.Unix(0, int64(w1)))
		if got, want := end.Sub(start), max(0, mono, wall); int64(got) != want {
			t.Fatalf("%+v.Sub(%+v) = %d, want %d without boot time", end, start, got, want)
		}
	}
}

func TestAnInstantOfAllZerosIsNotTheZeroInstant(t *testing.T) {
	var none Instant
	if !none.IsZero() || !none.Wall().IsZero() {
		t.Errorf("the zero Instant: IsZero() = %v, Wall() = %v", none.IsZero(), none.Wall())
	}
	for _, i := range []Instant{At(0, 0, time.Unix(0, 0)), AtWithoutBoot(0, time.Unix(0, 0))} {
		if i.IsZero() || i == none {
			t.Errorf("%+v is taken for no reading", i)
		}
	}
	if At(0, 0, epoch) == AtWithoutBoot(0, epoch) {
		t.Error("a boot time of 0 is taken for none")
	}
}

func TestWallReturnsWhatWasGiven(t *testing.T) {
	east := time.FixedZone("UTC+5:30", 5*3600+1800)
	for _, want := range []time.Time{epoch, epoch.In(east), time.Unix(0, 0), time.Date(1969, 7, 20, 20, 17, 40, 1, time.UTC), time.Now()} {
		got := At(1, 2, want).Wall()
		if !got.Equal(want.Round(0)) {
			t.Errorf("Wall() = %v, want %v", got, want)
		}
		if got != got.Round(0) {
			t.Errorf("Wall() = %v carries a monotonic reading", got)
		}
	}
	for year, want := range map[int]int{1: 1677, 1678: 1678, 2261: 2261, 9999: 2262} {
		if got := At(0, 0, time.Date(year, 7, 1, 0, 0, 0, 0, time.UTC)).Wall().UTC().Year(); got != want {
			t.Errorf("the year %d is held at %d, want %d", year, got, want)
		}
	}
}

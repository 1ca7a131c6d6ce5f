package term

import (
	"fmt"
	"testing"
	"time"
)

func TestNumbersAreAsPeopleReadThem(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "–", -time.Second: "–", 412 * time.Microsecond: "0.41 ms", 3200 * time.Microsecond: "3.2 ms", 9949 * time.Microsecond: "9.9 ms",
		9951 * time.Microsecond: "10 ms", 412 * time.Millisecond: "412 ms", 999 * time.Millisecond: "999 ms", 1349 * time.Millisecond: "1.3 s", 75 * time.Second: "75.0 s",
	} {
		if got := Span(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
	got := fmt.Sprint(Number(0), Number(3), Number(10), Number(11), Number(-1), "; ", Count(1, "sale"), Count(0, "sale"), Count(2, "sale"), Does(1, "wait"), Does(2, "wait"))
	if want := "nonethreeten11-1; 1 sale0 sales2 saleswaitswait"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestDurationsAreAsPeopleSayThem(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		412 * time.Millisecond: "412 ms", 5000609 * time.Microsecond: "5 s", 2700 * time.Millisecond: "2.7 s",
		9960 * time.Millisecond: "10 s", 13200 * time.Millisecond: "13 s", 20 * time.Minute: "20m0s",
		7*time.Minute + 12*time.Second: "7m12s", 24 * time.Hour: "24h0m0s", 71 * time.Hour: "2 days",
	} {
		if got := About(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}

// A person who comes at that time, or after so long, must not be too early.
func TestAnInstantToComeIsRoundedUp(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 23, 20, 0, 59, 200_000_000, time.Local)
	for in, want := range map[time.Duration]string{
		60702 * time.Millisecond: "20:01:00 (in 61 s)",
		61 * time.Second:         "20:01:00 (in 61 s)",
		20 * time.Minute:         "20:01:00 (in 20m0s)",
		24 * time.Hour:           "2026-11-23 20:01:00 (in 24h0m0s)",
	} {
		if got := Until(at, in); got != want {
			t.Errorf("%v: %q, want %q", in, got, want)
		}
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

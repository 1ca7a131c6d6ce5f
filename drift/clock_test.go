package drift

import (
	"math"
	"testing"
	"testing/synctest"
	"time"
)

func TestReadingsAdvanceWithRealTime(t *testing.T) {
	for name, clock := range map[string]Clock{"System": System(), "Runtime": Runtime()} {
		t.Run(name, func(t *testing.T) {
			before := time.Now()
			start := clock.Now()
			within := time.Now()
			if w := start.Wall(); w.Before(before.Round(0)) || w.After(within.Round(0)) {
				t.Errorf("Wall() = %v, read between %v and %v", w, before, within)
			}
			waited := <-time.After(5 * time.Millisecond)
			if got, least := clock.Now().Sub(start), waited.Sub(within); got < least {
				t.Errorf("%v passed by the clock, and at least %v in truth", got, least)
			}
			if got, most := clock.Now().Sub(start), time.Since(before); got > most+time.Minute {
				t.Errorf("%v passed by the clock, and at most %v in truth", got, most)
			}
		})
	}
}

func TestRuntimeLeavesBootTimeOut(t *testing.T) {
	if i := Runtime().Now(); i.flags != hasReading || i.boot != 0 {
		t.Errorf("Runtime().Now() = %+v, want no boot time", i)
	}
}

func TestSystemAndRuntimeShareTheirOrigins(t *testing.T) {
	a := System().Now()
	b := Runtime().Now()
	c := System().Now()
	if b.mono < a.mono || c.mono < b.mono {
		t.Errorf("monotonic readings in turn: %d, %d, %d", a.mono, b.mono, c.mono)
	}
}

// A clock in a bubble must tell exactly the virtual time, however much real
// time the test takes and wherever the origin lies.
func TestInABubbleExactlyTheVirtualTimePasses(t *testing.T) {
	for name, clock := range map[string]Clock{"System": System(), "Runtime": Runtime()} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := clock.Now()
				if want := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC); !start.Wall().Equal(want) {
					t.Errorf("Wall() = %v, want %v", start.Wall(), want)
				}
				for range 20_000 { // real time passes, virtual time does not
					if got := clock.Now().Sub(start); got != 0 {
						t.Fatalf("%v passed while virtual time stood still", got)
					}
				}
				total := time.Duration(0)
				for _, d := range []time.Duration{1, time.Microsecond, 50 * time.Millisecond, time.Hour, 100 * 365 * 24 * time.Hour} {
					before := clock.Now()
					time.Sleep(d)
					total += d
					if got := clock.Now().Sub(before); got != d {
						t.Errorf("%v passed, want %v", got, d)
					}
					if got := clock.Now().Sub(start); got != total {
						t.Errorf("%v passed in all, want %v", got, total)
					}
					if got := before.Sub(clock.Now()); got != 0 {
						t.Errorf("%v passed backwards", got)
					}
				}
			})
		})
	}
}

var sink Instant

func TestReadingsAndDifferencesDoNotAllocate(t *testing.T) {
	for name, clock := range map[string]Clock{"System": System(), "Runtime": Runtime(), "Fake": NewFake(epoch), "Cumulative": Cumulative(System())} {
		start := clock.Now()
		if n := testing.AllocsPerRun(1000, func() { sink = clock.Now() }); n != 0 {
			t.Errorf("%s: Now allocates %v times", name, n)
		}
		total := time.Duration(0)
		if n := testing.AllocsPerRun(1000, func() { total += Default.Validity(math.MaxInt64, clock.Now().Sub(start)) }); n != 0 {
			t.Errorf("%s: Sub and Validity allocate %v times", name, n)
		}
	}
}

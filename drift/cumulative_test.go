package drift

import (
	"math"
	"sync"
	"testing"
	"time"
)

func TestCumulativeCountsEachStepForward(t *testing.T) {
	const s = time.Second
	steps := func(all ...time.Duration) func(*Fake, Clock) {
		return func(f *Fake, c Clock) {
			for _, by := range all {
				f.StepWall(by)
				c.Now()
				f.Advance(s)
				c.Now()
			}
		}
	}
	for _, tt := range []struct {
		name string
		move func(f *Fake, c Clock)
		want time.Duration
	}{
		{"time passes", steps(0, 0), 2 * s},
		{"forward", steps(15 * s), 16 * s},
		{"back, then forward by less", steps(-20*s, 15*s), 17 * s},
		{"back, then forward by more", steps(-20*s, 60*s), 62 * s},
		{"forward, then back", steps(60*s, -60*s), 62 * s},
		{"back, then asleep", func(f *Fake, c Clock) { f.StepWall(-time.Hour); c.Now(); f.Suspend(60 * s) }, 60 * s},
		{"nobody reads in between", func(f *Fake, _ Clock) { f.StepWall(-20 * s); f.StepWall(15 * s) }, 0},
		{"small steps in one direction add up", func(f *Fake, c Clock) {
			for range 1000 {
				f.StepWall(time.Millisecond / 4)
				c.Now()
			}
		}, s / 4},
		{"small movements to and fro do not", func(f *Fake, c Clock) {
			for range 1000 {
				f.StepWall(time.Millisecond / 4)
				c.Now()
				f.StepWall(-time.Millisecond / 4)
				c.Now()
			}
		}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := NewFake(epoch)
			c := Cumulative(f)
			start := c.Now()
			tt.move(f, c)
			now := c.Now()
			if got := now.Sub(start); got != tt.want {
				t.Errorf("Sub = %v, want %v", got, tt.want)
			}
			raw := f.Now()
			if !now.Wall().Equal(raw.Wall()) || now.MonotonicSub(start) != time.Duration(raw.mono) || now.steady(start) != time.Duration(raw.boot) {
				t.Errorf("a step changed what a single clock shows: %+v", now)
			}
			if start.Sub(now) > max(0, start.Wall().Sub(now.Wall())) {
				t.Errorf("the wrong way round: %v", start.Sub(now))
			}
		})
	}
}

// A process may be held up between the readings of the two clocks: then the wall
// clock looks as if it had been set back for a moment.
func TestCumulativeReadsAgainWhatLooksLikeAStep(t *testing.T) {
	f := NewFake(epoch)
	late := false
	c := Cumulative(clockFunc(func() Instant {
		i := f.Now()
		if late {
			late = false
			i.mono += int64(10 * time.Millisecond)
		}
		return i
	}))
	start := c.Now()
	for range 1000 {
		late = true
		c.Now()
		c.Now()
	}
	if got := c.Now().Sub(start); got != 0 {
		t.Errorf("%v passed, and in truth none", got)
	}
}

type clockFunc func() Instant

func (f clockFunc) Now() Instant { return f() }

func TestCumulativeCountsAStepOnceForAllWhoRead(t *testing.T) {
	f := NewFake(epoch)
	c := Cumulative(f)
	start := c.Now()
	for range 100 {
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 20 {
					c.Now()
				}
			})
		}
		f.StepWall(time.Second)
		wg.Wait()
		c.Now()
		f.StepWall(-time.Second)
		c.Now()
	}
	if got, want := c.Now().Sub(start), 100*time.Second; got != want {
		t.Errorf("%v passed, want %v", got, want)
	}
}

func TestCumulativeIsMadeOnce(t *testing.T) {
	c := Cumulative(System())
	if Cumulative(c) != c {
		t.Error("one was made of another")
	}
	defer func() {
		if recover() == nil {
			t.Error("a nil Clock was accepted")
		}
	}()
	Cumulative(nil)
}

func TestCumulativeLeavesNoReadingAsItIs(t *testing.T) {
	f, none := NewFake(epoch), false
	c := Cumulative(clockFunc(func() Instant {
		if none {
			return Instant{}
		}
		return f.Now()
	}))
	start := c.Now()
	none = true
	if i := c.Now(); !i.IsZero() {
		t.Errorf("%+v", i)
	}
	none = false
	if got := c.Now().Sub(start); got != 0 {
		t.Errorf("%v passed, and in truth none", got)
	}
}

func TestCumulativeSaturates(t *testing.T) {
	f := NewFake(epoch)
	c := Cumulative(f)
	start := c.Now()
	for range 3 {
		f.StepWall(math.MaxInt64)
		c.Now()
		f.StepWall(math.MinInt64)
		if got := c.Now().Sub(start); got != 1<<62-1 {
			t.Errorf("%v passed", got)
		}
	}
}

package drift

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestFakeMovesTheClocksThatItSays(t *testing.T) {
	const s = time.Second
	for _, tt := range []struct {
		name             string
		move             func(*Fake)
		mono, boot, wall time.Duration
	}{
		{"Advance", func(f *Fake) { f.Advance(3 * s) }, 3 * s, 3 * s, 3 * s},
		{"Suspend", func(f *Fake) { f.Suspend(60 * s) }, 0, 60 * s, 60 * s},
		{"StepWall forward", func(f *Fake) { f.StepWall(60 * s) }, 0, 0, 60 * s},
		{"StepWall back", func(f *Fake) { f.StepWall(-60 * s) }, 0, 0, -60 * s},
		{"beyond what fits", func(f *Fake) { f.Advance(longest); f.Advance(longest) }, longest, longest, longest},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := NewFake(epoch)
			tt.move(f)
			if now, want := f.Now(), At(tt.mono, tt.boot, epoch.Add(tt.wall)); now != want {
				t.Errorf("Now() = %+v, want %+v", now, want)
			}
		})
	}
	var f Fake
	f.StepWall(math.MinInt64)
	f.StepWall(-1)
	if got := f.Now().wall; got != math.MinInt64 {
		t.Errorf("wall = %d, want the least", got)
	}
}

func TestTheZeroFakeIsReady(t *testing.T) {
	var f Fake
	start := f.Now()
	if start.IsZero() || !start.Wall().Equal(time.Unix(0, 0)) {
		t.Errorf("Now() = %+v, want a reading at 1970-01-01", start)
	}
	f.Advance(time.Second)
	if got := f.Now().Sub(start); got != time.Second {
		t.Errorf("Sub = %v, want 1s", got)
	}
}

func TestFakeRefusesToRunBackwards(t *testing.T) {
	for name, move := range map[string]func(*Fake){
		"Advance": func(f *Fake) { f.Advance(-time.Second) },
		"Suspend": func(f *Fake) { f.Suspend(-time.Second) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				said := fmt.Sprint(recover())
				for _, part := range []string{name, "-1s", "0 or more"} {
					if !strings.Contains(said, part) {
						t.Errorf("panics with %q, which does not mention %q", said, part)
					}
				}
			}()
			move(&Fake{})
		})
	}
}

func TestFakeMovesInOneStepForAllReaders(t *testing.T) {
	f := NewFake(epoch)
	start := f.Now()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 1000 {
				f.Advance(time.Millisecond)
			}
		})
		wg.Go(func() {
			for range 1000 {
				now := f.Now()
				if now.mono != now.boot || now.wall-start.wall != now.mono {
					t.Errorf("half a step: %+v", now)
					return
				}
			}
		})
	}
	wg.Wait()
	if got := f.Now().Sub(start); got != 4*time.Second {
		t.Errorf("%v passed, want 4s", got)
	}
}

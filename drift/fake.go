package drift

import (
	"fmt"
	"sync"
	"time"
)

// Fake is a Clock that is set by hand, for tests. It moves only when told to, and wakes nobody: a
// caller that waits for a time must look again.
//
// The zero Fake is ready to use; its wall clock shows 1970-01-01 UTC. All its methods are safe for
// concurrent use and move its clocks in one step. A Fake must not be copied after first use.
type Fake struct {
	mu   sync.Mutex // guards what follows; held for an addition, never across a call
	mono int64      // nanoseconds
	boot int64      // nanoseconds
	wall int64      // nanoseconds since 1970-01-01 UTC
}

// NewFake returns a Fake whose wall clock shows wall.
func NewFake(wall time.Time) *Fake { return &Fake{wall: unixNano(wall)} }

// Now returns what the three clocks show.
func (f *Fake) Now() Instant {
	f.mu.Lock()
	defer f.mu.Unlock()
	return Instant{mono: f.mono, boot: f.boot, wall: f.wall, flags: hasReading | hasBoot}
}

// Advance lets d pass for all three clocks: the machine runs, whether or not
// the process does. It panics when d is negative.
func (f *Fake) Advance(d time.Duration) {
	mustNotBeNegative("Advance", d)
	f.move(d, d, d)
}

// Suspend lets d pass for boot time and the wall clock, but not for the
// monotonic clock: the machine sleeps. It panics when d is negative.
func (f *Fake) Suspend(d time.Duration) {
	mustNotBeNegative("Suspend", d)
	f.move(0, d, d)
}

// StepWall sets the wall clock forward by d, or back by a negative d.
func (f *Fake) StepWall(d time.Duration) { f.move(0, 0, d) }

func (f *Fake) move(mono, boot, wall time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mono = add(f.mono, int64(mono))
	f.boot = add(f.boot, int64(boot))
	f.wall = add(f.wall, int64(wall))
}

// mustNotBeNegative panics rather than let a mistaken test pass: no real monotonic clock runs
// backwards.
func mustNotBeNegative(method string, d time.Duration) {
	if d < 0 {
		panic(fmt.Sprintf(
			"drift: Fake.%s by %v, want a duration of 0 or more (StepWall sets the wall clock back)", method, d))
	}
}

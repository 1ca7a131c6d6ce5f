package drift

import (
	"sync"
	"testing"
	"time"
)

// clocks are the clocks that a test sets.
type clocks struct {
	mono, wall, boot int64
	asked            int
}

func (c *clocks) clock() *bootClock {
	return &bootClock{read: func() (int64, bool) {
		c.asked++
		return c.boot, true
	}}
}

// pass moves all clocks on.
func (c *clocks) pass(d time.Duration) {
	c.mono += int64(d)
	c.wall += int64(d)
	c.boot += int64(d)
}

// sleep is what a suspended machine finds when it wakes up.
func (c *clocks) sleep(d time.Duration) {
	c.wall += int64(d)
	c.boot += int64(d)
}

func (c *clocks) want(t *testing.T, b *bootClock, asked int) {
	t.Helper()
	got, ok := b.at(Instant{mono: c.mono, wall: c.wall, flags: hasReading})
	if off := time.Duration(got - c.boot); !ok || off.Abs() > time.Duration(bootSlack) {
		t.Errorf("boot time is off by %v, ok %t", off, ok)
	}
	if c.asked != asked {
		t.Errorf("the system was asked %d times, want %d", c.asked, asked)
	}
}

func newClocks() *clocks {
	// It is ahead of package time's clock by more than the test takes, so that readings count as
	// just made.
	mono := int64(time.Since(base)) + int64(time.Hour)
	return &clocks{mono: mono, wall: mono + 1e18, boot: mono + 12345}
}

func TestBootTimeIsAskedForOnceInAWhile(t *testing.T) {
	c := newClocks()
	b := c.clock()
	c.want(t, b, 1)
	for range 9 {
		c.pass(time.Millisecond)
		c.want(t, b, 1)
	}
	c.pass(time.Millisecond)
	c.want(t, b, 2)
}

func TestSleepShowsInTheNextReading(t *testing.T) {
	for _, slept := range []time.Duration{time.Duration(bootSlack), time.Millisecond, time.Hour} {
		c := newClocks()
		b := c.clock()
		c.want(t, b, 1)
		c.pass(time.Millisecond)
		c.sleep(slept)
		c.want(t, b, 2)
		c.pass(time.Millisecond)
		c.want(t, b, 2)
	}
}

// After a wall clock was set, in either direction, the system is asked again. Sleep that somebody
// has taken back from the wall clock shows a little later.
func TestAWallClockThatIsSetDoesNotHideSleep(t *testing.T) {
	for _, step := range []time.Duration{time.Hour, -time.Hour} {
		c := newClocks()
		b := c.clock()
		c.want(t, b, 1)
		c.wall += int64(step)
		c.want(t, b, 2)
	}
	c := newClocks()
	b := c.clock()
	c.want(t, b, 1)
	c.boot += int64(time.Hour) // and not the wall clock
	c.pass(time.Duration(bootFresh))
	c.want(t, b, 2)
}

// Readings of other goroutines may come late.
func TestAnOlderReadingThanTheLastIsNotComputedFromIt(t *testing.T) {
	c := newClocks()
	b := c.clock()
	c.want(t, b, 1)
	c.pass(-time.Millisecond)
	c.want(t, b, 2)
}

func TestAReadingThatWasHeldUpIsNoMeasureForOthers(t *testing.T) {
	c := newClocks()
	c.mono -= 2 * int64(time.Hour) // long before the system is asked
	b := c.clock()
	c.want(t, b, 1)
	c.want(t, b, 2)
}

func TestASystemWithoutBootTimeIsNotBelievedToHaveIt(t *testing.T) {
	b := bootClock{read: func() (int64, bool) { return 0, false }}
	for range 2 {
		if ns, ok := b.at(readingOf(time.Now())); ok {
			t.Errorf("boot time %d", ns)
		}
	}
}

// A reading of boot time may be late, if a goroutine is held up between one clock and the next. So
// two readings may be in the wrong order. None is early: otherwise time asleep would be missed.
func TestBootTimeIsNeverReadEarly(t *testing.T) {
	if _, ok := bootTime(); !ok {
		t.Skip("the system does not tell boot time")
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 1000 {
				before, _ := bootTime()
				if now := System().Now(); now.boot < before {
					t.Errorf("boot time %d after %d", now.boot, before)
					return
				}
			}
		})
	}
	wg.Wait()
}

package drift

import (
	"sync"
	"sync/atomic"
	"time"
)

// stepSlack is the least movement of the wall clock against the monotonic one that counts as a
// step. A reading takes both clocks one after the other, so a process that is held up in between
// sees them apart; smaller movements are left to the Policy's Floor. It is measured from where the
// clocks stood at the last step, so that small movements in one direction add up to a step.
const stepSlack = int64(500 * time.Microsecond)

// Cumulative returns a Clock that reads c and adds up the wall clock's steps forward. It counts
// steps of half a millisecond or more between any two of its own readings. Sub of its Instants
// counts every step that fell in between, whatever the wall clock did before or after.
//
// That matters after a wall clock was set back. For example it was set back by 20 s, and then a
// virtual machine is paused for 15 s. Its wall clock still shows less than when it began, so the
// difference of two plain Instants cannot show the pause. A step between two readings is lost if a
// later step back falls between the same readings, so read the clock at regular intervals. Where a
// wall clock was set back by mistake, setting it right again counts as time that passed: an error
// on the side of believing less.
//
// Its Instants may be subtracted from each other, not from those of c. A clock that Cumulative made
// is returned as it is. Now is safe for concurrent use, allocates nothing except at a step, and
// blocks only while another goroutine reads c because of one. Cumulative panics when c is nil.
func Cumulative(c Clock) Clock {
	if c == nil {
		panic("drift: Cumulative of a nil Clock")
	}
	if done, ok := c.(*cumulativeClock); ok {
		return done
	}
	return &cumulativeClock{clock: c}
}

type cumulativeClock struct {
	clock Clock
	last  atomic.Pointer[wallSteps]

	// mu guards the replacement of last. The clock is read again under it: of two readings that
	// were taken in one order and compared in the other, one would look like a step back and the
	// next like a step forward.
	mu sync.Mutex
}

// wallSteps is where the clocks stood at the last step, in nanoseconds.
type wallSteps struct {
	ahead  int64 // wall clock less monotonic clock
	gained int64 // sum of all steps forward
}

func (c *cumulativeClock) Now() Instant {
	i := c.clock.Now()
	if s := c.last.Load(); s != nil && !i.IsZero() && !stepped(i.aheadOf(s)) {
		return i.withGained(s.gained)
	}
	return c.step()
}

// step reads the clock once more, and records the step if it still shows.
func (c *cumulativeClock) step() Instant {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := c.clock.Now()
	if i.IsZero() {
		return i
	}
	s := c.last.Load()
	if s == nil {
		s = &wallSteps{ahead: sub(i.wall, i.mono)}
		c.last.Store(s)
	} else if by := i.aheadOf(s); stepped(by) {
		s = &wallSteps{ahead: add(s.ahead, by), gained: add(s.gained, max(0, by))}
		c.last.Store(s)
	}
	return i.withGained(s.gained)
}

// aheadOf is how far the wall clock has moved against the monotonic one since s.
func (i Instant) aheadOf(s *wallSteps) int64 { return sub(sub(i.wall, i.mono), s.ahead) }

func stepped(by int64) bool { return by >= stepSlack || by <= -stepSlack }

package drift

import (
	"sync/atomic"
	"time"
)

// A bootClock tells boot time without asking the system every time. Asking costs ten times what
// time.Now does, and was a seventh of what a pair of lock and unlock cost the client.
//
// Boot time differs from the monotonic clock only by sleep. When a machine wakes up, its kernel
// adds the time asleep to boot time and to the wall clock at once. So as long as the wall clock has
// not moved against the monotonic clock, boot time has not either. That is relied on for bootFresh
// at a time. Sleep is missed only if somebody sets the wall clock back by the time asleep, to
// within bootSlack, in those few milliseconds.
type bootClock struct {
	read func() (ns int64, ok bool)
	last atomic.Pointer[bootOffset]
}

// A bootOffset is how far wall clock and boot time were ahead of the monotonic
// clock at an instant on it, in nanoseconds.
type bootOffset struct{ mono, wall, boot int64 }

const (
	bootFresh = int64(10 * time.Millisecond) // on the monotonic clock
	bootSlack = int64(50 * time.Microsecond) // also the greatest error of a reading that was computed
)

var boot = bootClock{read: bootTime}

// at returns boot time at i, which was read just now and on the system's
// clocks. It reports false where the system does not tell.
func (c *bootClock) at(i Instant) (ns int64, ok bool) {
	if o := c.last.Load(); o != nil && o.holds(i) {
		return i.mono + o.boot, true
	}
	if ns, ok = c.read(); !ok {
		return 0, false
	}
	// If the goroutine was held up between the readings, or the machine went to sleep there, the
	// offset is of no use for other readings.
	if int64(time.Since(base))-i.mono < bootSlack {
		c.last.Store(&bootOffset{mono: i.mono, wall: i.wall - i.mono, boot: ns - i.mono})
	}
	return ns, true
}

// holds reports whether the offset can be taken to be the same at i.
func (o *bootOffset) holds(i Instant) bool {
	age, moved := i.mono-o.mono, i.wall-i.mono-o.wall
	return age >= 0 && age < bootFresh && moved > -bootSlack && moved < bootSlack
}

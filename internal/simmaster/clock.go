package simmaster

import (
	"time"

	"github.com/alicebob/miniredis/v2"
)

// clock is the master's own clock and drives expiry by it. Every method needs
// the gate's slot.
//
// miniredis keeps TTLs as time left and, with ClockTTL, lowers them by what
// SetTime moved forward since the last access. A step backward it ignores,
// while in Redis, which keeps the instant of expiry, the key lives longer by
// the step: turn makes up for it.
//
// For miniredis a key of 10 ms is gone once 10 ms have passed; in Redis it lives
// through the whole millisecond in which its time has come, with a PTTL of 0. So
// miniredis is told a time that falls behind by a nanosecond more at every turn:
// what was set at an earlier turn then has a little left at that instant.
type clock struct {
	now    func() time.Time
	offset time.Duration
	read   time.Time     // the master's time when the current command started
	turned time.Time     // the same in whole milliseconds, when miniredis was told last
	behind time.Duration // by how much miniredis's time was behind that
}

// mostBehind is where the nanoseconds begin anew. What was set before may then
// be gone a millisecond early, as it would be always without them.
const mostBehind = 500 * time.Microsecond

// adopt makes redis, a fresh one, run by this clock.
func (c *clock) adopt(redis *miniredis.Miniredis) {
	c.look()
	c.turned, c.behind = c.read.Truncate(time.Millisecond), 0
	redis.SetTime(c.turned)
	redis.ClockTTL(true)
}

// look reads the clock. The monotonic reading is dropped: a master's time is
// wall time, and steps of the host's clock are steps of the master's.
func (c *clock) look() {
	c.read = c.now().Round(0).Add(c.offset).UTC()
}

// turn brings the data up to the clock. Whole milliseconds, as in Redis: this
// also bounds how often miniredis walks through all keys.
func (c *clock) turn(redis *miniredis.Miniredis) {
	c.look()
	now := c.read.Truncate(time.Millisecond)
	step := now.Sub(c.turned)
	switch {
	case step > 0:
		if c.behind++; c.behind == mostBehind {
			c.behind = 0
		}
		redis.SetTime(now.Add(-c.behind))
	case step < 0:
		redis.DB(0)                       // expire what was due by the clock as it was
		redis.SetTime(now.Add(-c.behind)) // does not touch TTLs when it goes backward
		redis.FastForward(step)           // negative: lengthens them
	}
	c.turned = now
}

// setOffset moves the clock. What the move makes due is expired now: the
// active expiry of Redis would have found it within moments.
func (c *clock) setOffset(redis *miniredis.Miniredis, offset time.Duration) {
	c.turn(redis)
	redis.DB(0)
	c.offset = offset
	c.turn(redis)
	redis.DB(0)
}

package simmaster

import (
	"time"

	"github.com/alicebob/miniredis/v2"
)

// clock is the master's own clock, which drives the expiry of keys. Every method needs the gate's
// slot.
//
// miniredis keeps the time that each key has left and, with ClockTTL, lowers it by how far SetTime
// has moved forward since the last access. It ignores steps backward. Redis keeps the instant of
// expiry, so there a key lives longer by the step. Method turn makes up for that.
//
// In miniredis a key of 10 ms is gone once 10 ms have passed. In Redis it lives through the whole
// millisecond in which it expires, with a PTTL of 0. So miniredis gets a time that is one
// nanosecond further behind at every turn: a key that was set at an earlier turn still has a little
// time left.
type clock struct {
	now    func() time.Time
	offset time.Duration
	read   time.Time     // the master's time when the current command started
	turned time.Time     // the same in whole milliseconds, at the last turn
	behind time.Duration // by how much miniredis's time was behind that
}

// mostBehind is where the nanoseconds begin again at 0. Keys that were set before may then expire a
// millisecond early, as all keys would without the nanoseconds.
const mostBehind = 500 * time.Microsecond

// adopt makes redis, a new one, use this clock.
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

// turn brings the data up to the clock, in whole milliseconds as Redis does. This also bounds how
// often miniredis walks through all keys.
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
		redis.DB(0)                       // expire what was due before the step
		redis.SetTime(now.Add(-c.behind)) // does not touch TTLs when it goes backward
		redis.FastForward(step)           // negative: lengthens them
	}
	c.turned = now
}

// setOffset moves the clock. Keys that are due after the move expire now: the active expiry of
// Redis would soon find them.
func (c *clock) setOffset(redis *miniredis.Miniredis, offset time.Duration) {
	c.turn(redis)
	redis.DB(0)
	c.offset = offset
	c.turn(redis)
	redis.DB(0)
}

package sim

import (
	"sync/atomic"
	"time"

	"github.com/redquorum/redquorum/drift"
)

// A clock runs at its own rate, and its wall time has an offset. A client uses it as its
// drift.Clock; a master uses only its rate.
type clock struct {
	start time.Time
	ppm   int64
	wall  atomic.Int64 // offset in ns
}

// elapsed is the time since the start by this clock's rate.
func (c *clock) elapsed() time.Duration {
	e := time.Since(c.start)
	return e + e/1_000_000*time.Duration(c.ppm) + e%1_000_000*time.Duration(c.ppm)/1_000_000
}

// Now implements drift.Clock.
func (c *clock) Now() drift.Instant {
	e := c.elapsed()
	return drift.At(e, e, c.time(e))
}

func (c *clock) time(e time.Duration) time.Time {
	return c.start.Add(e + time.Duration(c.wall.Load()))
}

// Time is the wall time.
func (c *clock) Time() time.Time { return c.time(c.elapsed()) }

// real converts a duration of this clock into one of the run.
func (c *clock) real(d time.Duration) time.Duration {
	return time.Duration(float64(d) / (1 + float64(c.ppm)/1e6))
}

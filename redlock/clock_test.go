package redlock_test

import (
	"sync"
	"time"

	"github.com/redquorum/redquorum/drift"
)

// A leapingClock moves a minute between any two readings.
type leapingClock struct {
	mu sync.Mutex
	n  time.Duration // guarded by mu
}

func (c *leapingClock) Now() drift.Instant {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n += time.Minute
	return drift.AtWithoutBoot(c.n, time.Unix(0, 0).Add(c.n))
}

// A shiftedClock is Go's clock plus the time for which the machine slept.
type shiftedClock struct {
	mu    sync.Mutex
	slept time.Duration // guarded by mu
}

func (c *shiftedClock) Now() drift.Instant {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	return drift.At(now.Sub(time.Unix(0, 0)), now.Sub(time.Unix(0, 0))+c.slept, now)
}

func (c *shiftedClock) sleep(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.slept += d
}

func (c *skewedClock) step(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.off += by
}

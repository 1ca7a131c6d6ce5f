package quorum

import (
	"sync/atomic"
	"time"
)

// A Count counts things in flight, and can wait for their end. The client's Close waits
// for the rounds that masters have not answered yet. So a rollback that is queued when
// the program stops is still sent. The zero value is ready to use. A nil Count counts nothing.
type Count struct {
	n       atomic.Int64
	waiting atomic.Bool
	none    chan struct{} // made by the first Wait, before waiting is set; gets a value when n falls to 0
}

// Add counts one more.
func (c *Count) Add() {
	if c != nil {
		c.n.Add(1)
	}
}

// Done counts one less.
func (c *Count) Done() {
	if c != nil && c.n.Add(-1) == 0 && c.waiting.Load() {
		select {
		case c.none <- struct{}{}:
		default:
		}
	}
}

// Load returns the count.
func (c *Count) Load() int64 { return c.n.Load() }

// Wait blocks until the count is 0, for limit at most. It reports whether the count is 0.
// Only one goroutine may call it.
func (c *Count) Wait(limit time.Duration) bool {
	if c.none == nil {
		c.none = make(chan struct{}, 1)
		c.waiting.Store(true)
	}
	t := time.NewTimer(limit)
	defer t.Stop()
	for c.n.Load() != 0 {
		select {
		case <-c.none:
		case <-t.C:
			return c.n.Load() == 0
		}
	}
	return true
}

package ballot

import (
	"sync/atomic"
	"time"
)

// A Count counts what is under way, ballots whose calls the masters have not all answered yet,
// so that they can be waited for at the end: Close lets a rollback out that is
// queued when the program stops. The zero value counts none.
type Count struct {
	n      atomic.Int64
	ending atomic.Bool
	none   chan struct{} // made by wait, before ending is set; gets a value when n falls to 0
}

// Add counts one more.
func (u *Count) Add() { u.n.Add(1) }

// Done counts one less.
func (u *Count) Done() {
	if u.n.Add(-1) == 0 && u.ending.Load() {
		select {
		case u.none <- struct{}{}:
		default:
		}
	}
}

// Load is how many there are.
func (u *Count) Load() int64 { return u.n.Load() }

// Wait blocks until there are none, for limit at the most. It is called once.
func (u *Count) Wait(limit time.Duration) {
	u.none = make(chan struct{}, 1)
	u.ending.Store(true)
	t := time.NewTimer(limit)
	defer t.Stop()
	for u.n.Load() != 0 {
		select {
		case <-u.none:
		case <-t.C:
			return
		}
	}
}

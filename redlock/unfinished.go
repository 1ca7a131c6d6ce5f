package redlock

import (
	"sync/atomic"
	"time"
)

// unfinished counts rounds whose calls the masters have not all answered yet,
// so that they can be waited for at the end: Close lets a rollback out that is
// queued when the program stops. The zero value counts none.
type unfinished struct {
	n      atomic.Int64
	ending atomic.Bool
	none   chan struct{} // made by wait, before ending is set; gets a value when n falls to 0
}

func (u *unfinished) add() { u.n.Add(1) }

func (u *unfinished) done() {
	if u.n.Add(-1) == 0 && u.ending.Load() {
		select {
		case u.none <- struct{}{}:
		default:
		}
	}
}

// wait blocks until there are none, for limit at the most. It is called once.
func (u *unfinished) wait(limit time.Duration) {
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

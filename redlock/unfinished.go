package redlock

import (
	"sync/atomic"
	"time"
)

// unfinished counts rounds whose calls the masters have not all answered yet,
// so that Close can let them end: a rollback that is queued when the program
// stops should still be sent. Calls that wait for a master that is down do not
// count.
type unfinished struct {
	n       atomic.Int64
	closing atomic.Bool
	none    chan struct{} // capacity 1; gets a value when n falls to 0 while closing
}

func (u *unfinished) add() { u.n.Add(1) }

func (u *unfinished) done() {
	if u.n.Add(-1) == 0 && u.closing.Load() {
		select {
		case u.none <- struct{}{}:
		default:
		}
	}
}

// wait blocks until there are none, for limit at the most.
func (u *unfinished) wait(limit time.Duration) {
	u.closing.Store(true)
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

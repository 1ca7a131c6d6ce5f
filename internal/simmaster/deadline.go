package simmaster

import (
	"sync"
	"time"
)

// deadline closes a channel at a moment that may be moved, as the deadlines of net.Pipe do. A move
// also affects waits in progress.
type deadline struct {
	mu     sync.Mutex // guards the fields below; never held while waiting
	at     time.Time  // zero for never
	timer  *time.Timer
	closed chan struct{} // closed when the moment has come
	gone   bool          // closed is closed
	setNo  uint64        // distinguishes the present timer from replaced ones
}

func newDeadline() deadline { return deadline{closed: make(chan struct{})} }

// set moves the deadline; the zero time means never.
func (d *deadline) set(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	d.setNo++
	d.at = t
	if d.gone {
		d.closed, d.gone = make(chan struct{}), false
	}
	if t.IsZero() {
		return
	}
	left := time.Until(t)
	if left <= 0 {
		close(d.closed)
		d.gone = true
		return
	}
	mine := d.setNo
	d.timer = time.AfterFunc(left, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.setNo == mine && !d.gone {
			close(d.closed)
			d.gone = true
		}
	})
}

// passed returns the channel that is closed when the deadline has passed.
func (d *deadline) passed() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.closed
}

// over reports whether the deadline has passed by the clock: exact also at the
// very instant, when the timer may not have run yet.
func (d *deadline) over() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.gone || !d.at.IsZero() && !time.Now().Before(d.at)
}

package pipeline

import (
	"sync"
	"time"
)

// A stallWatch ends a session whose oldest reply is overdue. Replies come in order. So the
// oldest is overdue exactly if something was under way all the time and nothing was
// completed. The watch compares counters four times per limit, which costs the hot path one
// flag. It finds a stall after the limit and at most a quarter more. It rests while nothing
// is under way. If its timer comes late, this process was held up, and replies may lie unread
// in the socket: that time does not count.
type stallWatch struct {
	s *session

	mu     sync.Mutex // guards all below; taken by the writer, the timer and stop
	timer  *time.Timer
	armed  bool
	over   bool
	since  time.Time // when the watch first saw this number of replies
	marked uint64
	due    time.Time // when the timer should fire
}

// MostLate is how late a timer may fire in a process that was not held up.
const MostLate = 5 * time.Millisecond

func (w *stallWatch) init(s *session) { w.s = s }

func (w *stallWatch) interval() time.Duration { return w.s.p.cfg.StallLimit / 4 }

// arm starts the watch. The writer calls it before each push, after it has counted the calls
// as sent.
func (w *stallWatch) arm() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.armed || w.over {
		return
	}
	w.armed = true
	w.since, w.marked = time.Now(), w.s.received.Load()
	w.due = w.since.Add(w.interval())
	if w.timer == nil {
		w.timer = time.AfterFunc(w.interval(), w.check)
	} else {
		w.timer.Reset(w.interval())
	}
}

// check runs on the timer's goroutine, and arms the timer again.
func (w *stallWatch) check() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return
	}
	received := w.s.received.Load()
	now := time.Now()
	late := now.Sub(w.due)
	heldUp := late > MostLate
	if heldUp {
		w.since = w.since.Add(late)
	}
	switch {
	case received == w.s.sent.Load():
		w.armed = false
		w.s.p.setSilent(false)
		return
	case received != w.marked:
		w.since, w.marked = now, received
		w.s.p.setSilent(false)
	case now.Sub(w.since) >= w.s.p.cfg.StallLimit:
		w.over = true
		w.s.fail(ErrStalled)
		return
	}
	patience := max(w.interval(), 2*w.s.p.RoundTrip())
	if received == w.marked && !heldUp && time.Since(w.since) >= patience {
		w.s.p.setSilent(true)
		if w.s.received.Load() != received { // a reply has come meanwhile
			w.s.p.setSilent(false)
		}
	}
	w.due = now.Add(w.interval())
	w.timer.Reset(w.interval())
}

// stop does not wait: a check that is running uses only what still exists.
func (w *stallWatch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	if w.timer != nil {
		w.timer.Stop()
	}
}

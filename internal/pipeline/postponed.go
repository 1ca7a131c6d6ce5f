package pipeline

import (
	"slices"
	"sync"
	"time"
)

const (
	// leastPostponed and mostPostponed bound the pauses between two attempts at a call that the
	// master refuses. Each pause is twice as long as the one before.
	leastPostponed = 50 * time.Millisecond
	mostPostponed  = 5 * time.Second
	// postponedGrid is the grid on which pauses end, so that many calls go out together.
	postponedGrid = 10 * time.Millisecond
)

// postponed has the calls that a master has refused. They are queued again when their pauses are
// over. The pipeline's mutex guards it.
type postponed struct {
	calls  []pausing
	timer  *time.Timer    // nil: no call waits
	due    time.Time      // when the timer fires
	timers sync.WaitGroup // Close waits for it
}

type pausing struct {
	call *Call
	due  time.Time
}

// RetryLater sends a call again after a pause, if it is kept until then. Its owner calls it from
// inside Complete, after an error reply. If RetryLater returns true, another Complete follows.
// If it returns false, the owner has the call back, and the call is not sent again.
func (p *Pipeline) RetryLater(c *Call) bool {
	pause := mostPostponed
	if c.refusals < 7 {
		pause = min(pause, leastPostponed<<c.refusals)
	}
	due := onGrid(time.Now().Add(pause))
	if !c.mayRetry(due) {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	// The other half of the queue is for other calls.
	if p.state == closed || len(p.postponed.calls) >= p.cfg.QueueLimit/2 {
		return false
	}
	if c.refusals < 7 {
		c.refusals++
	}
	p.postponed.calls = append(p.postponed.calls, pausing{c, due})
	p.postponed.await(due, p.resume)
	return true
}

// onGrid returns the next instant on the grid of the pauses. It keeps the monotonic reading, which
// Truncate drops: a wall clock that is set back makes no pause longer.
func onGrid(t time.Time) time.Time {
	return t.Add(postponedGrid - time.Duration(t.UnixNano())%postponedGrid)
}

// await sets the timer to call resume at due, or earlier. The caller must hold the mutex, and the
// pipeline must not be closed.
func (w *postponed) await(due time.Time, resume func()) {
	switch {
	case w.timer == nil:
		w.timers.Add(1)
		w.timer, w.due = time.AfterFunc(time.Until(due), resume), due
	case due.Before(w.due) && w.timer.Stop(): // otherwise it has begun to run
		w.timer.Reset(time.Until(due))
		w.due = due
	}
}

// take removes and returns the calls whose pauses are over. next is when the next pause ends;
// zero: no call waits. The caller must hold the mutex.
func (w *postponed) take(now time.Time) (over []*Call, next time.Time) {
	w.calls = slices.DeleteFunc(w.calls, func(c pausing) bool {
		switch {
		case !c.due.After(now):
			over = append(over, c.call)
			return true
		case next.IsZero() || c.due.Before(next):
			next = c.due
		}
		return false
	})
	return over, next
}

// resume is what the timer runs. It queues the calls whose pauses are over.
func (p *Pipeline) resume() {
	defer p.postponed.timers.Done()
	p.mu.Lock()
	p.postponed.timer = nil
	over, next := p.postponed.take(time.Now())
	if !next.IsZero() && p.state != closed {
		p.postponed.await(next, p.resume)
	}
	p.mu.Unlock()
	for _, c := range over {
		p.Enqueue(c)
	}
}

// SendPostponed sends all postponed calls again at once. If the pipeline is closed, they fail.
func (p *Pipeline) SendPostponed() {
	p.mu.Lock()
	if w := &p.postponed; w.timer != nil && w.timer.Stop() {
		w.timer = nil
		w.timers.Done()
	}
	over := p.postponed.calls
	p.postponed.calls = nil
	p.mu.Unlock()
	for _, c := range over {
		p.Enqueue(c.call)
	}
}

package pipeline

import (
	"slices"
	"sync"
	"time"
)

const (
	// leastPostponed and mostPostponed bound the pauses between two attempts at a call that the
	// master refuses: each is twice the one before.
	leastPostponed = 50 * time.Millisecond
	mostPostponed  = 5 * time.Second
	// postponedGrid is the grid on which they end, so that many calls go out together.
	postponedGrid = 10 * time.Millisecond
)

// The postponed calls of a master were refused by it, and are not queued until their pauses are
// over. Its pipeline's mutex guards them.
type postponed struct {
	calls  []pausing
	timer  *time.Timer    // nil: none waits
	due    time.Time      // when it does
	timers sync.WaitGroup // Close waits for it
}

type pausing struct {
	call *Call
	due  time.Time
}

// RetryLater sends a call again after a pause, if it is kept until then. Its owner calls it from
// inside Complete, about an error reply, and has the call back when RetryLater returns false:
// then it is sent no more. Otherwise another Complete follows.
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
	// The rest of the queue is for others.
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

// onGrid is the next instant on the grid of the pauses. It keeps the monotonic reading, which
// Truncate drops: a wall clock that is set back makes no pause longer.
func onGrid(t time.Time) time.Time {
	return t.Add(postponedGrid - time.Duration(t.UnixNano())%postponedGrid)
}

// await has resume called at an instant, or earlier. The caller must hold the mutex, and the
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

// take takes the calls whose pauses are over by then, and returns when the next pause is; zero:
// none waits. The caller must hold the mutex.
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

// SendPostponed sends all calls again that wait after a refusal, whatever is left of their
// pauses. If the pipeline is closed it completes them.
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

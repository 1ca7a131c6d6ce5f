package pipeline

import "time"

const (
	// leastPostponed and mostPostponed bound the pauses between two attempts at a call that the
	// master refuses: each is twice the one before.
	leastPostponed = 50 * time.Millisecond
	mostPostponed  = 5 * time.Second
	// postponedGrid is the grid on which they end, so that many calls go out together.
	postponedGrid = 10 * time.Millisecond
)

// A postponed call was refused by the master, and waits until it is sent again. It is not
// queued meanwhile.
type postponed struct {
	call *Call
	due  time.Time
}

// Postpone sends a call again after a pause, if it is kept until then. Its owner calls it from
// inside Complete, about an error reply, and has the call back when Postpone returns false:
// then it is sent no more. Otherwise another Complete follows.
func (p *Pipeline) Postpone(c *Call) bool {
	pause := mostPostponed
	if c.refusals < 7 {
		pause = min(pause, leastPostponed<<c.refusals)
	}
	due := onGrid(time.Now().Add(pause))
	if !c.kept(due) {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	// The rest of the queue is for others.
	if p.state == closed || len(p.postponed) >= p.cfg.QueueLimit/2 {
		return false
	}
	if c.refusals < 7 {
		c.refusals++
	}
	p.postponed = append(p.postponed, postponed{c, due})
	p.awaitPostponed(due)
	return true
}

// onGrid is the next instant on the grid of the pauses. It keeps the monotonic reading, which
// Truncate drops: a wall clock that is set back makes no pause longer.
func onGrid(t time.Time) time.Time {
	return t.Add(postponedGrid - time.Duration(t.UnixNano())%postponedGrid)
}

// awaitPostponed has sendPostponed called at an instant, or earlier. The caller must hold p.mu,
// and the pipeline must not be closed.
func (p *Pipeline) awaitPostponed(due time.Time) {
	switch {
	case p.resending == nil:
		p.resends.Add(1)
		p.resending, p.resendAt = time.AfterFunc(time.Until(due), p.sendPostponed), due
	case due.Before(p.resendAt) && p.resending.Stop(): // otherwise it has begun to run
		p.resending.Reset(time.Until(due))
		p.resendAt = due
	}
}

// sendPostponed is what the timer runs. It queues the calls whose pause is over.
func (p *Pipeline) sendPostponed() {
	defer p.resends.Done()
	now := time.Now()
	p.mu.Lock()
	p.resending = nil
	var over []*Call
	var next time.Time
	rest := p.postponed[:0]
	for _, w := range p.postponed {
		if !w.due.After(now) {
			over = append(over, w.call)
			continue
		}
		if next.IsZero() || w.due.Before(next) {
			next = w.due
		}
		rest = append(rest, w)
	}
	clear(p.postponed[len(rest):])
	p.postponed = rest
	if len(rest) > 0 && p.state != closed {
		p.awaitPostponed(next)
	}
	p.mu.Unlock()
	for _, c := range over {
		p.Enqueue(c)
	}
}

// SendPostponed sends all calls again that wait after a refusal, whatever is left of their
// pauses. If the pipeline is closed it completes them.
func (p *Pipeline) SendPostponed() {
	for _, w := range p.takePostponed() {
		p.Enqueue(w.call)
	}
}

// takePostponed takes all calls that wait, and stops the timer.
func (p *Pipeline) takePostponed() []postponed {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.resending != nil && p.resending.Stop() {
		p.resending = nil
		p.resends.Done()
	}
	all := p.postponed
	p.postponed = nil
	return all
}

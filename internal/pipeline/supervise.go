package pipeline

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/gomodule/redigo/redis"
)

// supervise owns the connection: it dials, serves until the connection is lost, and dials again.
func (p *Pipeline) supervise(ctx context.Context) {
	defer close(p.done)
	defer p.change(closed, ErrClosed, ErrClosed, nil)
	var id identity
	dials := 0    // failed dials since the last connection
	spare := true // the next loss of a connection that answered is no failure
	failures, before := 0, dialled{}
	for p.awaitDial(ctx, failures, before) {
		before = dialled{at: time.Now()}
		w, rc, next, err := p.dial(ctx, id)
		if err != nil {
			if ctx.Err() != nil {
				return
			}
			failures++
			dials++
			before.refused = isAnswer(err)
			p.wentDown(err, dials)
			continue
		}
		dials = 0
		s, ok := p.cameUp(w, rc, next)
		next.hookCalls = nil
		id = next
		if !ok {
			_ = w.abort()
			return
		}
		begun := time.Now()
		unfinished, err := s.run()
		// A server that ends the connection after the handshake, or after one answer, must not be
		// dialled in a loop. So only a connection that has lasted resets the failures. It may
		// have been idle: servers close idle connections.
		switch before.answered = s.received.Load() > 0; {
		case before.answered && time.Since(begun) > brief, p.dialer.proved(begun, failures+1) && s.sent.Load() == 0:
			failures, spare = 0, true
		case before.answered && spare:
			failures, spare = 0, false
		default:
			failures++
		}
		p.lost(err, unfinished, failures)
	}
}

// A dialled is the result of a dial.
type dialled struct {
	at       time.Time // when it began
	answered bool      // the connection was answered before it was lost
	refused  bool      // the dial failed because of the master's answer
}

const (
	// mostAnswered is the longest pause after a connection that was answered.
	mostAnswered = 250 * time.Millisecond
	// wantedEvery is how often a master is dialled while calls wait for it.
	wantedEvery = 100 * time.Millisecond
)

// AddWaiting adds n, which may be negative, to the calls that wait for a quorum. While there are
// any, a master that is down is dialled every 100 ms, unless it answers and refuses the client.
func (p *Pipeline) AddWaiting(n int) {
	if p.wanted.Add(int64(n)) == int64(n) && n > 0 {
		select {
		case p.hurry <- struct{}{}:
		default:
		}
	}
}

// awaitDial waits before the dial that follows another one. It reports whether ctx is still
// alive.
func (p *Pipeline) awaitDial(ctx context.Context, failures int, before dialled) bool {
	d := p.dialer.backoff(failures)
	if before.answered {
		d = min(d, mostAnswered)
	}
	for due := time.Now().Add(d); ctx.Err() == nil; {
		left := time.Until(due)
		if !before.refused && p.wanted.Load() > 0 {
			left = min(left, wantedEvery-time.Since(before.at))
		}
		if left <= 0 {
			return true
		}
		t := time.NewTimer(left)
		select {
		case <-t.C:
		case <-p.hurry:
		case <-ctx.Done():
		}
		t.Stop()
	}
	return false
}

// cameUp starts a session, unless the pipeline was closed meanwhile.
func (p *Pipeline) cameUp(w *wire, rc redis.Conn, id identity) (*session, bool) {
	s := newSession(p, p.epoch.Add(1), w, rc)
	for _, c := range id.hookCalls {
		c.Epoch, c.Sent = s.epoch, true
	}
	id.hookCalls = nil
	first := p.first(s.epoch, id.runID)
	if p.state == closed {
		p.mu.Unlock()
		for _, c := range first {
			c.finish(ErrClosed)
		}
		return nil, false
	}
	p.accepted.Add(uint64(len(first)))
	p.queue = append(first, p.queue...)
	p.state, p.cause, p.session, p.id = up, nil, s, id
	p.serving.Store(true)
	p.mu.Unlock()
	p.cfg.Deliverer.Debug("master connected", "master", p.cfg.Name, "epoch", s.epoch)
	return s, true
}

// lost handles the end of a session. Calls that were in flight or queued fail, except those that
// are kept. The next dial starts at once, and new calls wait for its outcome. They do not wait
// if the master had stalled: a master that accepts connections and never answers would hold
// them all up. After failures in a row they do not wait either, because a pause comes first.
func (p *Pipeline) lost(err error, unfinished []*Call, failures int) {
	next := connecting
	if failures > 0 || errors.Is(err, ErrStalled) {
		next = down
	}
	if _, renewed := errors.AsType[*renewedError](err); !renewed && !errors.Is(err, ErrClosed) {
		p.warnings.warn(&p.cfg, "master lost", err)
	}
	p.change(next, err, err, unfinished)
}

// wentDown handles a failed dial; dials is how many have failed in a row.
func (p *Pipeline) wentDown(err error, dials int) {
	if dials == 1 {
		what := "master unreachable"
		if isConfig(err) {
			what = "master refuses this client"
		}
		p.warnings.warn(&p.cfg, what, err)
	}
	p.change(down, err, &DownError{err}, nil)
}

// change moves to a state that is not up. Calls that may be kept stay queued in order; the
// others fail with failure. Only the supervisor calls it, so no session begins before it
// returns.
func (p *Pipeline) change(next state, cause, failure error, unfinished []*Call) {
	p.mu.Lock()
	if p.state == closed {
		next, cause, failure = closed, ErrClosed, ErrClosed
	}
	if p.session != nil {
		p.over = p.session.epoch
	}
	p.state, p.cause, p.session = next, cause, nil
	p.serving.Store(false)
	calls := slices.Concat(unfinished, p.queue)
	p.queue = nil
	now := time.Now()
	p.mu.Unlock()
	p.notifyDown(cause, next == connecting)

	var retried []*Call
	for _, c := range calls {
		switch {
		case next == closed || !c.mayRetry(now):
			p.complete(c, failure)
			continue
		case next == down:
			c.Owner.Delayed(c, failure)
		}
		retried = append(retried, c)
	}
	if len(retried) == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queue = append(retried, p.queue...)
}

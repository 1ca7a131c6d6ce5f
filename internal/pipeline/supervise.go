package pipeline

import (
	"errors"
	"slices"
	"time"

	"github.com/gomodule/redigo/redis"
)

// The changes of a master's state, as the supervisor makes them.

// cameUp starts a session, unless the pipeline was closed meanwhile.
func (p *Pipeline) cameUp(w *wire, rc redis.Conn, id identity) (*session, bool) {
	s := newSession(p, p.epoch.Add(1), w, rc)
	for _, c := range id.greeted {
		c.Epoch, c.Sent = s.epoch, true
	}
	id.greeted = nil
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

// lost is the end of a session. Calls that were under way or queued die with it, except those
// that are kept. The next dial starts at once, and new calls wait for its outcome. They do
// not wait if the master had stalled: a master that accepts connections and never answers
// would hold them all up. Nor do they wait after several failures in a row: then a pause
// comes first.
func (p *Pipeline) lost(err error, leftover []*Call, failures int) {
	next := connecting
	if failures > 0 || errors.Is(err, ErrStalled) {
		next = down
	}
	if _, renewed := errors.AsType[*renewedError](err); !renewed && !errors.Is(err, ErrClosed) {
		p.warn("master lost", err)
	}
	p.change(next, err, err, leftover)
}

// wentDown is the end of a dial that failed; dials is how many have failed in a row.
func (p *Pipeline) wentDown(err error, dials int) {
	if dials == 1 {
		what := "master unreachable"
		if isConfig(err) {
			what = "master refuses this client"
		}
		p.warn(what, err)
	}
	p.change(down, err, &DownError{err}, nil)
}

// change moves to a state that is not up. Calls that may be kept stay queued in order; the
// others fail with failure. Only the supervisor calls it, so no session begins before it
// returns.
func (p *Pipeline) change(next state, cause, failure error, leftover []*Call) {
	p.mu.Lock()
	if p.state == closed {
		next, cause, failure = closed, ErrClosed, ErrClosed
	}
	if p.session != nil {
		p.over = p.session.epoch
	}
	p.state, p.cause, p.session = next, cause, nil
	p.serving.Store(false)
	calls := slices.Concat(leftover, p.queue)
	p.queue = nil
	now := time.Now()
	p.mu.Unlock()
	p.tellDown(cause, next == connecting)

	var kept []*Call
	for _, c := range calls {
		switch {
		case next == closed || !c.kept(now):
			p.complete(c, failure)
			continue
		case next == down:
			c.Owner.Delayed(c, failure)
		}
		kept = append(kept, c)
	}
	if len(kept) == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queue = append(kept, p.queue...)
}

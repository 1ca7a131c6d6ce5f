package hold

import (
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/wire"
)

// A life says whether a hold is held, and until when. The hold's mutex guards it.
type life struct {
	state       state
	heldPending bool          // Owner.Held has not returned: reports wait in later
	agreed      uint8         // masters that had agreed when the attempt was decided
	start       drift.Instant // validity runs from here
	validity    time.Duration // TTL less the clock drift
	ttl         time.Duration // of the question that began at start; the claim's may be longer
	loss        *Loss         // when state is lost
	later       []func()      // see heldPending
}

type state uint8

const (
	trying state = iota // its attempt is not decided, or was just decided and has a validity
	held
	lost
	ended // released, handed over or rolled back
)

// A Loss is how a hold was lost.
type Loss struct {
	Reason Reason
	// Planned: it ended as its options say.
	Planned bool
	// Failure is the last renewal's, or that of the release; nil: none failed.
	Failure *quorum.Failure
	// Cause is the error of Owner.Cause, with which the contexts end.
	Cause error
}

// A Reason says how a hold was lost.
type Reason uint8

// Reasons.
const (
	Expired     Reason = iota + 1 // its validity ran out, or no quorum has the key any more
	Taken                         // another's token is at the key
	Unreachable                   // it could not be renewed in time
	Closed                        // the client was closed
)

// lossReason returns why a hold is lost if no quorum has its key any more.
func lossReason(res *wire.Result) Reason {
	if res.Taken {
		return Taken
	}
	return Expired
}

// Remaining returns how much longer the hold is guaranteed, for whichever handles are left;
// 0: it is not held.
func (h *Hold) Remaining() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.life.remaining(h.manager.now())
}

// remaining returns Remaining at an instant. The caller must hold the hold's mutex.
func (l *life) remaining(now drift.Instant) time.Duration {
	if l.state > held {
		return 0
	}
	return max(0, l.validity-now.Sub(l.start))
}

// unexpired returns how long the keys of the last successful round still live. That is longer
// than the remaining validity by the allowance for clock drift. The caller must hold the hold's
// mutex.
func (l *life) unexpired(now drift.Instant) time.Duration {
	return max(0, l.ttl-now.Sub(l.start))
}

// expire ends the hold if its validity has run out, also before a timer fires. The caller must
// hold h.mu, and read the clock after locking it: otherwise the time for which it waited for mu
// would not count (S7).
func (h *Hold) expire(now drift.Instant) {
	if h.life.state != held || h.life.remaining(now) > 0 {
		return
	}
	switch {
	case h.endsAsPlanned():
		h.lose(now, &Loss{Reason: Expired, Planned: true})
	case h.renewal.failed > 0 || h.renewal.underWay != nil:
		h.lose(now, &Loss{Reason: Unreachable, Failure: h.renewal.lastFailure})
	default:
		h.lose(now, &Loss{Reason: Expired})
	}
}

// endsAsPlanned reports whether the options allow no renewal after the present validity. The
// caller must hold h.mu.
func (h *Hold) endsAsPlanned() bool {
	o := h.opts
	switch {
	case o.Fixed, o.MaxCount > 0 && h.renewal.count >= o.MaxCount:
		return true
	default:
		return o.MaxHold > 0 && h.life.start.Sub(h.acquired)+h.life.validity >= o.MaxHold
	}
}

// lose makes a loss final, unless the hold has ended before. It does not block: contexts end on
// goroutines of their own, because many others may be derived from them (Manager.LoseAll waits
// for these), and the deliverer reports the loss. An extension may have set or extended keys for
// a hold that is gone. They are released, and do not stay for a TTL (S6). The release waits in
// the renewer until the TTL of the last successful round is over (unexpired). An earlier release
// would let another client acquire the key within the time that the drift allowance leaves the
// holder after its context has ended. The caller must hold h.mu.
func (h *Hold) lose(now drift.Instant, l *Loss) {
	if h.life.state != held {
		return
	}
	h.life.state, h.life.loss = lost, l
	l.Cause = h.owner.Cause(l)
	if h.handles == nil {
		h.first.endContext()
	}
	for n := range h.handles {
		n.endContext()
	}
	if h.extended && !h.sent && l.Reason != Closed { // when the client closes, ReleaseAll follows
		h.manager.renewer.postpone(h)
	} else {
		h.manager.renewer.remove(h)
	}
	h.reportLost(End{Loss: l, At: now, Renewals: h.renewal.count})
}

// reportLost reports an end by a loss. The caller must hold h.mu.
func (h *Hold) reportLost(end End) {
	h.report(h.manager.cfg.Deliverer.Always, func() { h.owner.Released(end) })
}

// report queues a report about the hold, or keeps it until Owner.Held has returned. The caller
// must hold h.mu.
func (h *Hold) report(queue func(func()), f func()) {
	if h.life.heldPending {
		h.life.later = append(h.life.later, f)
		return
	}
	queue(f)
}

// released reports an end that the holder has asked for: at once, or after Owner.Held.
func (h *Hold) released(end End) {
	h.mu.Lock()
	if h.life.heldPending {
		h.life.later = append(h.life.later, func() { h.owner.Released(end) })
		h.mu.Unlock()
		return
	}
	h.mu.Unlock()
	h.owner.Released(end)
}

// reportHeld reports a hold that begins, and then what has happened to it meanwhile. It does so
// itself, so that the deliverer does not have to wait.
func (h *Hold) reportHeld() {
	h.owner.Held()
	for {
		h.mu.Lock()
		later := h.life.later
		h.life.later, h.life.heldPending = nil, len(later) > 0
		h.mu.Unlock()
		if len(later) == 0 {
			return
		}
		for _, f := range later {
			f()
		}
	}
}

// HeldReturned reports whether Owner.Held has returned.
func (h *Hold) HeldReturned() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.life.heldPending
}

package hold

import (
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/outcome"
	"github.com/redquorum/redquorum/internal/wire"
)

// A life says whether a hold is held, and until when. The hold's mutex guards it.
type life struct {
	state    state
	untold   bool          // the loss has to be told when mu is free
	agreed   uint8         // masters that had agreed when the attempt was decided
	start    drift.Instant // validity runs from here
	validity time.Duration // TTL less the clock drift
	ttl      time.Duration // that the masters were asked for then; the claim's may be longer
	loss     *Loss         // when state is lost
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
	// Planned: it ended as it was asked to.
	Planned bool
	// Failure is the last renewal's; nil: none failed.
	Failure *outcome.Failure
	// Cause is the error that the owner has made of it: the contexts' cause.
	Cause error
}

// A Reason says how a hold was lost.
type Reason uint8

// Reasons.
const (
	Expired     Reason = iota + 1 // its validity ran out, or a quorum has no key any more
	Taken                         // another's token stands where ours was
	Unreachable                   // it could not be renewed in time
	Closed                        // the client was closed
)

// lossReason is why a hold is lost that no quorum has any more.
func lossReason(res *wire.Result) Reason {
	if res.Taken {
		return Taken
	}
	return Expired
}

// unlock releases mu, and reports a loss that was noticed under it.
func (h *Hold) unlock() {
	untold := h.life.untold
	h.life.untold = false
	h.mu.Unlock()
	if untold {
		h.endLost()
	}
}

// Remaining is how much longer the hold is guaranteed, whichever handles are left; 0: it is
// not held.
func (h *Hold) Remaining() time.Duration {
	now := h.home.now()
	h.mu.Lock()
	defer h.unlock()
	return h.remaining(now)
}

// remaining is Remaining at an instant. The caller must hold h.mu.
func (h *Hold) remaining(now drift.Instant) time.Duration {
	if h.life.state > held {
		return 0
	}
	return max(0, h.life.validity-now.Sub(h.life.start))
}

// unexpired is how long the keys of the last round that succeeded are still there. It is
// longer than the validity by what may differ between our clock and the masters'. The caller
// must hold h.mu.
func (h *Hold) unexpired(now drift.Instant) time.Duration {
	return max(0, h.life.ttl-now.Sub(h.life.start))
}

// expire ends the hold if its validity has run out, also before a timer says so. The caller
// must hold h.mu.
func (h *Hold) expire(now drift.Instant) {
	if h.life.state != held || h.remaining(now) > 0 {
		return
	}
	switch {
	case h.endsAsPlanned():
		h.lose(&Loss{Reason: Expired, Planned: true})
	case h.renewal.failed > 0 || h.renewal.underWay != nil:
		h.lose(&Loss{Reason: Unreachable, Failure: h.renewal.lastFailure})
	default:
		h.lose(&Loss{Reason: Expired})
	}
}

// endsAsPlanned reports whether no renewal is to follow the hold's present validity. The
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

// lose makes a loss final and ends the handles' contexts, unless the hold has ended before.
// The caller must hold h.mu, and release it with unlock.
func (h *Hold) lose(l *Loss) {
	if h.life.state != held {
		return
	}
	h.life.state, h.life.loss, h.life.untold = lost, l, true
	l.Cause = h.owner.Cause(l)
	h.endContexts(l.Cause)
}

// endLost does what follows a loss and must not be done under mu. An extension may have set
// or prolonged keys for a hold that is gone: they are released, and not left for a TTL (S6).
// The release waits in the keeper until the TTL of the last round that succeeded is over
// (unexpired). A release at once would take from the holder the time that the drift allowance
// leaves it, between its being told and somebody else's grant.
func (h *Hold) endLost() {
	h.mu.Lock()
	l := h.life.loss
	renewals := h.renewal.count
	if h.extended && !h.sent && l.Reason != Closed { // when the client closes, ReleaseAll follows
		h.home.keeper.postpone(h)
	} else {
		h.home.keeper.remove(h)
	}
	h.mu.Unlock()
	h.owner.Lost(l)
	h.owner.Released(End{Loss: l, At: h.home.now(), Renewals: renewals})
}

package hold

import (
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/outcome"
	"github.com/redquorum/redquorum/internal/wire"
)

// A life is whether a hold is held, and until when. It is guarded by the hold's mutex.
type life struct {
	state    state
	untold   bool          // the loss has to be told when mu is free
	agreed   uint8         // masters that had agreed when the attempt was decided
	start    drift.Instant // validity runs from here
	validity time.Duration // TTL less the clock drift
	loss     *Loss         // when state is lost
}

type state uint8

const (
	trying state = iota // its attempt is not decided, or has just been: then it has a validity
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
	// Cause is what the owner has made of it: the contexts' cause.
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

// lossReason is why a hold that a quorum does not have any more is gone.
func lossReason(res *wire.Result) Reason {
	if res.Taken {
		return Taken
	}
	return Expired
}

// unlock releases mu, and tells of a loss that was noticed under it.
func (h *Hold) unlock() {
	untold := h.life.untold
	h.life.untold = false
	h.mu.Unlock()
	if untold {
		h.endLost()
	}
}

// Remaining is for how much longer the hold is guaranteed, whichever handles are left;
// 0: it is not held.
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

// expire notices that the validity has run out, whether or not a timer has said so yet.
// The caller must hold h.mu.
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

// endsAsPlanned reports whether the validity that the hold has now is the last that it
// was to have. The caller must hold h.mu.
func (h *Hold) endsAsPlanned() bool {
	o := h.opts
	switch {
	case o.Fixed, o.MaxCount > 0 && h.renewal.count >= o.MaxCount:
		return true
	default:
		return o.MaxHold > 0 && h.life.start.Sub(h.acquired)+h.life.validity >= o.MaxHold
	}
}

// lose makes a loss final, unless the hold has ended before, and ends the handles'
// contexts. The caller must hold h.mu, and release it by unlock.
func (h *Hold) lose(l *Loss) {
	if h.life.state != held {
		return
	}
	h.life.state, h.life.loss, h.life.untold = lost, l, true
	l.Cause = h.owner.Cause(l)
	h.endContexts(l.Cause)
}

// endLost does what follows a loss and may not be done under mu. Where an extension was
// sent, keys may have been set or prolonged for a hold that does not exist any more: they
// are released rather than left for a TTL (S6). So are those of a minority when a
// majority has said that it has none.
func (h *Hold) endLost() {
	h.home.keeper.remove(h)
	now := h.home.now()
	h.mu.Lock()
	l := h.life.loss
	early := now.Sub(h.life.start) < h.life.validity
	if (h.extended || early) && l.Reason != Closed {
		h.sendRelease(true)
	}
	renewals := h.renewal.count
	h.mu.Unlock()
	h.owner.Lost(l)
	h.owner.Released(End{Loss: l, At: h.home.now(), Renewals: renewals})
}

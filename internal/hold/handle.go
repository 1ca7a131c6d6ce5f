package hold

import (
	"context"
	"slices"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/wire"
)

// A Handle is one caller's share in a hold. Hold.Init gets the first; others join it. It is
// safe for concurrent use once its hold is held.
type Handle struct {
	hold   *Hold         // does not change once that is held
	joined time.Duration // how long the hold had been held when it joined

	// Guarded by the hold's mutex.
	returned bool
	ctx      *handleContext // nil: not asked for yet
}

// Hold returns the handle's hold.
func (n *Handle) Hold() *Hold { return n.hold }

// Since returns how long the handle has held.
func (n *Handle) Since(now drift.Instant) time.Duration { return now.Sub(n.hold.acquired) - n.joined }

// again gives the handle a new hold, for another attempt at the same lock.
func (n *Handle) again() { n.hold = n.hold.next() }

// Remaining returns how much longer the handle holds.
func (n *Handle) Remaining() time.Duration {
	h := n.hold
	h.mu.Lock()
	defer h.mu.Unlock()
	if n.returned {
		return 0
	}
	return h.life.remaining(h.manager.now())
}

// ValidUntil returns when the guarantee of the hold ends unless it is extended. It is counted
// by this machine's wall clock, from the start of the last question that extended the hold.
func (n *Handle) ValidUntil() time.Time {
	h := n.hold
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.life.start.Wall().Add(h.life.validity)
}

// IsHeld reports whether the handle holds now.
func (n *Handle) IsHeld() bool {
	h := n.hold
	h.mu.Lock()
	defer h.mu.Unlock()
	return n.overNow() == nil
}

// overNow reads the clock and returns unusable. The caller must hold the hold's mutex.
func (n *Handle) overNow() *Problem {
	n.hold.expire(n.hold.manager.now())
	return n.unusable()
}

// unusable says why the handle does not hold, or nil. The caller must hold the hold's mutex.
func (n *Handle) unusable() *Problem {
	if n.returned {
		return &Problem{Unlocked: true}
	}
	return n.hold.over()
}

// over says why the hold is not held any more, or nil. The caller must hold h.mu.
func (h *Hold) over() *Problem {
	switch h.life.state {
	case lost:
		return &Problem{Loss: h.life.loss}
	case ended:
		return &Problem{Unlocked: true}
	default:
		return nil
	}
}

// A Refusal says why a handle cannot join a hold.
type Refusal uint8

// Refusals.
const (
	NotRefused Refusal = iota
	Over               // the hold, or the handle by which it was found, has ended
	Upgrade            // a reader cannot become a writer
	Unfenced           // the hold has no fencing token
	Reentrant          // it may not be shared, or is of another kind or of other keys
)

// Join makes n another handle on the hold of in. The hold that n had says what is wanted; no
// attempt was made with it. may: the caller permits sharing. longer: the hold has to be
// extended, because n wants a longer TTL.
func (n *Handle) Join(in *Handle, may bool) (longer bool, why Refusal) {
	h, wanted := in.hold, n.hold
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.manager.now()
	h.expire(now)
	switch {
	case in.unusable() != nil:
		return false, Over
	case h.claim.Kind == wire.Reader && wanted.claim.Kind == wire.Plain:
		return false, Upgrade
	case wanted.claim.Fenced && !h.claim.Fenced:
		return false, Unfenced
	case !may || h.claim.Kind != wanted.claim.Kind || h.name != wanted.name ||
		!slices.Equal(h.Others(), wanted.Others()):
		return false, Reentrant
	}
	if h.handles == nil {
		h.handles = map[*Handle]struct{}{h.first: {}}
	}
	h.handles[n] = struct{}{}
	n.hold, n.joined = h, now.Sub(h.acquired)
	if longer = wanted.claim.TTL > h.claim.TTL; longer {
		// Not taken back if the extension fails: it may have reached some masters, and a
		// renewal with the longer TTL does no harm.
		h.claim.TTL = wanted.claim.TTL
	}
	return longer, NotRefused
}

// Leave undoes Join. If all other handles have left meanwhile, it releases the hold without
// waiting.
func (n *Handle) Leave() {
	ask, end, p := n.end()
	if ask == nil {
		return
	}
	ask.Done()
	if p == nil {
		n.hold.released(end)
	}
}

// leave takes a handle off the hold. It reports whether none is left. The caller must hold h.mu.
// It then ends the handle's context, and the hold if no handle is left.
func (h *Hold) leave(n *Handle) (last bool) {
	if h.handles == nil {
		return true
	}
	if h.life.state == held {
		n.returned = true // after a loss the handle stays lost
	}
	delete(h.handles, n)
	return len(h.handles) == 0
}

// shared returns how many others share the hold, or nil. The caller must hold h.mu.
func (h *Hold) shared() *Problem {
	if len(h.handles) < 2 {
		return nil
	}
	return &Problem{Shared: len(h.handles) - 1}
}

// Context returns the handle's context, which ends with the handle or the hold. The first call
// makes it, as a child of the context that parent returns.
func (n *Handle) Context(parent func() context.Context) context.Context {
	h := n.hold
	h.mu.Lock()
	defer h.mu.Unlock()
	if n.ctx == nil {
		ctx, cancel := context.WithCancelCause(parent())
		n.ctx = &handleContext{ctx, cancel, n}
		if p := n.overNow(); p != nil {
			cancel(h.manager.cause(p)) // no other context is derived from it yet
		}
	}
	return n.ctx
}

// EndContext ends the context of a handle that does not hold any more. Otherwise it does nothing.
func (n *Handle) EndContext() {
	n.hold.mu.Lock()
	c := n.ctx
	n.hold.mu.Unlock()
	if c != nil {
		c.end()
	}
}

// endContext ends the context of a handle on a lost hold, on a goroutine of its own. The caller
// must hold the hold's mutex.
func (n *Handle) endContext() {
	if n.ctx != nil {
		n.hold.manager.ending.Go(n.ctx.end)
	}
}

// cause returns the error with which the context ends if the handle is unusable because of p.
func (manager *Manager) cause(p *Problem) error {
	if p.Loss != nil {
		return p.Loss.Cause
	}
	return manager.cfg.Unlocked
}

// A handleContext ends with its handle or hold. The goroutine that notices the end cancels it,
// under no mutex of ours. The renewer uses another goroutine for that, because many contexts may
// be derived from it. Err computes whether the validity has run out. It does not rely on a timer:
// timers stand still while a machine sleeps (S7).
type handleContext struct {
	context.Context // ends with a cause
	cancel          context.CancelCauseFunc
	handle          *Handle
}

func (c *handleContext) Err() error {
	if c.Context.Err() == nil {
		c.end()
	}
	return c.Context.Err()
}

// end ends the context if the handle does not hold any more. It may be called several times.
func (c *handleContext) end() {
	h := c.handle.hold
	h.mu.Lock()
	p := c.handle.overNow()
	h.mu.Unlock()
	if p != nil {
		c.cancel(h.manager.cause(p))
	}
}

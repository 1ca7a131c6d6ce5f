package hold

import (
	"context"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/outcome"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/wire"
)

// A Release is what the masters answered to a release. Later answers do not count.
type Release struct {
	OK   int // masters that have confirmed it
	Need int // masters that have to confirm it; 0: none was asked
}

// Release ends the handle, and with the last handle the hold: its context ends, nothing
// renews it any more, and it is released on every master that may have the key. The release
// is always sent (S5). ctx and the masters' timeout only bound the wait for a quorum to
// confirm it. began is now.
func (n *Handle) Release(ctx context.Context, began drift.Instant) (r Release, p *Problem) {
	h := n.hold
	h.mu.Lock()
	h.expire(began)
	p = n.unusable()
	last := h.leave(n)
	if p == nil && last {
		h.life.state = ended
		n.endContext(h.home.cfg.Unlocked) // before the masters can give the key away
	}
	var ask *wire.Ask
	if last && !h.sent {
		ask = h.startRelease(true)
	}
	end := End{At: began, Renewals: h.renewal.count}
	h.unlock()
	if p != nil || !last {
		if ask != nil { // of a hold that was lost before
			ask.LetGo()
			h.home.keeper.remove(h)
		}
		return Release{}, p
	}
	h.home.keeper.remove(h)
	r.Need = h.home.cfg.Need
	r.OK, p = h.awaitRelease(ctx, ask, began)
	if p != nil && p.Loss != nil {
		h.owner.Lost(p.Loss)
		end.Loss = p.Loss
	}
	h.owner.Released(end)
	return r, p
}

// HandOver ends the handle without releasing the lock. It returns the token with which
// another process can adopt the lock. It waits until no question that may set the keys is
// under way, for as long as the hold was valid at most: a renewal may wait for so long, too.
// A master that has stopped ends the wait when its connection is given up.
func (n *Handle) HandOver(now drift.Instant) (token string, p *Problem) {
	h := n.hold
	h.mu.Lock()
	h.expire(now)
	left := h.remaining(now)
	if p = n.unusable(); p == nil {
		p = h.shared()
	}
	if p == nil {
		h.leave(n)
		h.life.state, h.sent = ended, true
		n.endContext(h.home.cfg.Unlocked)
		h.releaseReplaced()
	}
	renewals := h.renewal.count
	h.unlock()
	if p != nil {
		return "", p
	}
	h.home.keeper.remove(h)
	h.owner.Released(End{HandedOver: true, At: now, Renewals: renewals})
	h.setting.Wait(left)
	return h.claim.Token, nil
}

// startRelease queues the release for every master that may have the key. For a master that
// cannot be reached now, it is kept as long as the key can live there. handOver: call the
// waiter that is first. The caller must hold h.mu, and let go of the question; nil: there is
// no master to ask.
func (h *Hold) startRelease(handOver bool) *wire.Ask {
	h.sent = true
	h.releaseReplaced()
	return h.home.cfg.Wire.Release(&h.claim, h.keepRelease(), handOver)
}

// sendRelease queues a release that nobody waits for, once. The caller must hold h.mu.
func (h *Hold) sendRelease(handOver bool) {
	if h.sent {
		return
	}
	if ask := h.startRelease(handOver); ask != nil {
		ask.LetGo()
	}
}

// releaseReplaced releases the token that an adoption replaced, where the adoption did not come
// in: a master may have been away, or may have missed the script. Nobody waits for it. It comes
// before the release of the hold's own token, which calls who waits where nothing is left. An
// attempt that has failed leaves the token to others who adopt. The caller must hold h.mu.
func (h *Hold) releaseReplaced() {
	if !h.claim.Adopts() || h.life.validity == 0 {
		return
	}
	replaced := h.claim
	replaced.Token, replaced.From, replaced.Absent = h.claim.From, "", 0
	if ask := h.home.cfg.Wire.Release(&replaced, h.keepRelease(), false); ask != nil {
		ask.LetGo()
	}
}

// releaseUnasked is sendRelease where the holder has not asked for it. The caller must hold
// h.mu.
func (h *Hold) releaseUnasked() {
	if !h.opts.UnlockOnly {
		h.sendRelease(true)
	}
}

// keepRelease is until when a release is worth sending: until a key that is set now has
// expired.
func (h *Hold) keepRelease() time.Time {
	return time.Now().Add(h.claim.TTL + h.home.cfg.Allowance(h.claim.TTL))
}

// awaitRelease waits for a quorum to confirm a release, and counts the masters that have.
func (h *Hold) awaitRelease(ctx context.Context, ask *wire.Ask, began drift.Instant) (ok int, p *Problem) {
	defer ask.LetGo()
	cause := ask.Wait(ctx, h.home.Timeout(h.claim.TTL))
	h.owner.Answered(ctx, ask)
	res := ask.Result()
	switch {
	case res.Outcome == quorum.Granted:
		return res.Tally.OK, nil
	case res.Gone():
		l := &Loss{Reason: lossReason(&res)}
		l.Cause = h.owner.Cause(l)
		return res.Tally.OK, &Problem{Loss: l}
	default:
		return res.Tally.OK, &Problem{Failure: ask.Failure(h.name, outcome.NoQuorum, cause, h.home.now().Sub(began))}
	}
}

package hold

import (
	"context"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/wire"
)

// A Release is what the masters answered to a release. Later answers do not count.
type Release struct {
	OK   int // masters that have confirmed it
	Need int // masters that have to confirm it; 0: none was asked
}

// Release ends the handle, and with the last handle the hold: its context ends, nothing renews
// it any more, and it is released on every master that may have the key. The release is always
// sent (S5). ctx and the masters' timeout only bound the wait for a quorum to confirm it.
func (n *Handle) Release(ctx context.Context) (r Release, p *Problem) {
	h := n.hold
	ask, end, p := n.end()
	if ask == nil { // others have the hold, or it was lost and released before
		return Release{}, p
	}
	if p != nil { // it was lost before
		ask.Done()
		return Release{}, p
	}
	r.Need = h.manager.cfg.Need
	r.OK, p = h.awaitRelease(ctx, ask, end.At)
	if p != nil && p.Loss != nil {
		end.Loss = p.Loss
		h.mu.Lock()
		h.reportLost(end)
		h.mu.Unlock()
		return r, p
	}
	h.released(end)
	return r, p
}

// end ends the handle and its context, and with the last handle the hold: then it queues the
// release, once. release is nil if it queued none. p says why the handle did not hold any more.
func (n *Handle) end() (release *wire.Ask, end End, p *Problem) {
	h := n.hold
	h.mu.Lock()
	end.At = h.manager.now()
	h.expire(end.At)
	p = n.unusable()
	last := h.leave(n)
	if p == nil && last {
		h.life.state = ended
	}
	send := last && !h.sent
	h.sent = h.sent || send // nothing else sends it
	end.Renewals = h.renewal.count
	c := n.ctx
	h.mu.Unlock()

	if c != nil { // it must end before the masters can grant the key again
		h.manager.cfg.InFlight.Add() // Close waits for the release, however long the context takes to end
		defer h.manager.cfg.InFlight.Done()
		c.end()
	}
	if !send {
		return nil, end, p
	}
	h.mu.Lock()
	release = h.startRelease(true)
	h.mu.Unlock()
	h.manager.renewer.remove(h)
	return release, end, p
}

// HandOver ends the handle without releasing the lock. It returns the token with which
// another process can adopt the lock. It waits until no question that may set the keys is
// under way, at most for the validity that was left, which also bounds a renewal. A master that
// has stopped ends the wait when its connection is given up.
func (n *Handle) HandOver() (token string, p *Problem) {
	h := n.hold
	h.mu.Lock()
	now := h.manager.now()
	h.expire(now)
	left := h.life.remaining(now)
	if p = n.unusable(); p == nil {
		p = h.shared()
	}
	if p != nil {
		h.mu.Unlock()
		return "", p
	}
	h.leave(n)
	h.life.state, h.sent = ended, true
	h.releaseReplaced()
	end := End{HandedOver: true, At: now, Renewals: h.renewal.count}
	h.mu.Unlock()
	n.EndContext()
	h.manager.renewer.remove(h)
	h.released(end)
	h.setting.Wait(left)
	return h.claim.Token, nil
}

// startRelease queues the release for every master that may have the key. For a master that
// cannot be reached now, it is kept as long as the key can live there. handOver: call the
// first waiter. The caller must hold h.mu, and call Done on the result; nil: no master has to
// be asked.
func (h *Hold) startRelease(handOver bool) *wire.Ask {
	h.sent = true
	h.releaseReplaced()
	return h.manager.cfg.Wire.Release(&h.claim, h.keepRelease(), handOver)
}

// sendRelease queues a release that nobody waits for, once. The caller must hold h.mu.
func (h *Hold) sendRelease(handOver bool) {
	if h.sent {
		return
	}
	if ask := h.startRelease(handOver); ask != nil {
		ask.Done()
	}
}

// releaseReplaced releases the token that an adoption replaced, on masters that the adoption did
// not reach: a master may have been down, or may have missed the script. Nobody waits for it. A
// failed attempt leaves the token to others that adopt. The caller must hold h.mu.
func (h *Hold) releaseReplaced() {
	if !h.claim.Adopts() || h.life.validity == 0 {
		return
	}
	replaced := h.claim
	replaced.Token, replaced.From, replaced.Absent = h.claim.From, "", 0
	if ask := h.manager.cfg.Wire.Release(&replaced, h.keepRelease(), false); ask != nil {
		ask.Done()
	}
}

// releaseUnasked queues a release that the holder has not asked for, except with UnlockOnly.
// The caller must hold h.mu.
func (h *Hold) releaseUnasked() {
	if !h.opts.UnlockOnly {
		h.sendRelease(true)
	}
}

// keepRelease returns until when to keep a release: until a key that is set now has expired.
func (h *Hold) keepRelease() time.Time {
	return time.Now().Add(h.claim.TTL + h.manager.cfg.Allowance(h.claim.TTL))
}

// awaitRelease waits for a quorum to confirm a release, and returns how many masters did.
func (h *Hold) awaitRelease(ctx context.Context, ask *wire.Ask, began drift.Instant) (ok int, p *Problem) {
	defer ask.Done()
	cause := ask.Wait(ctx, h.manager.AnswerTimeout(h.claim.TTL))
	h.owner.Answered(ctx, ask)
	res := ask.Result()
	switch {
	case res.Outcome == quorum.Granted:
		return res.Tally.OK, nil
	case res.Gone():
		f := ask.Failure(h.name, quorum.NoQuorum, nil, h.manager.now().Sub(began))
		l := &Loss{Reason: lossReason(&res), Failure: f}
		l.Cause = h.owner.Cause(l)
		return res.Tally.OK, &Problem{Loss: l}
	default:
		return res.Tally.OK, &Problem{Failure: ask.Failure(h.name, quorum.NoQuorum, cause, h.manager.now().Sub(began))}
	}
}

package hold

import (
	"context"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/outcome"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/wire"
)

// Extend prolongs the hold to a full TTL from now (S6). It blocks for ctx, the masters'
// timeout and the remaining validity at the most. Whether the masters were asked is
// reported too. The caller has just read the clock.
func (n *Handle) Extend(ctx context.Context, now drift.Instant) (asked bool, p *Problem) {
	return n.question(ctx, now, func(h *Hold) (*wire.Ask, *Problem) {
		return h.startExtension(wire.OpExtend, false), nil
	})
}

// Verify asks whether a quorum has the lock still, and changes nothing there. Otherwise
// it is as Extend.
func (n *Handle) Verify(ctx context.Context, now drift.Instant) (asked bool, p *Problem) {
	return n.question(ctx, now, func(h *Hold) (*wire.Ask, *Problem) {
		return h.home.cfg.Wire.Verify(&h.claim, h.home.now()), nil
	})
}

// Downgrade makes a writer's hold a reader's and prolongs it. It is a reader's from when
// the question is sent, whatever comes of it. Otherwise it is as Extend.
// Readers that wait for the key are called then.
func (n *Handle) Downgrade(ctx context.Context, now drift.Instant) (asked bool, p *Problem) {
	key := ""
	asked, p = n.question(ctx, now, func(h *Hold) (*wire.Ask, *Problem) {
		if h.claim.Kind != wire.Plain && h.claim.Kind != wire.Reader {
			return nil, &Problem{Kind: true}
		}
		if p := h.shared(); p != nil {
			return nil, p // the others believe to be writers
		}
		if h.claim.Kind != wire.Reader {
			key = h.claim.Key()
		}
		h.claim.BecomeReader() // under mu, so whatever is sent next is a reader's
		return h.startExtension(wire.OpDowngrade, false), nil
	})
	if asked && key != "" {
		n.hold.home.cfg.Wire.AdmitReaders(key, true)
	}
	return asked, p
}

// question puts a question about a hold to the masters, and waits for the answer. start
// is called with the hold's mutex locked, and may refuse.
func (n *Handle) question(ctx context.Context, now drift.Instant, start func(h *Hold) (*wire.Ask, *Problem)) (asked bool, p *Problem) {
	// Asked first: the handle's own context looks at the hold, under its mutex.
	over := ctx.Err()
	h := n.hold
	h.mu.Lock()
	h.expire(now)
	p = n.unusable()
	if p == nil && over != nil {
		p = &Problem{Over: over}
	}
	limit := min(h.home.Timeout(h.claim.TTL), h.remaining(now))
	var ask *wire.Ask
	if p == nil {
		ask, p = start(h)
	}
	h.unlock()
	if p != nil {
		return false, p
	}
	defer ask.LetGo()
	cause := ask.Wait(ctx, limit)
	return true, h.finishExtension(ctx, ask, cause)
}

// startExtension queues an extension. The caller must hold h.mu, so that none is queued
// behind the release.
func (h *Hold) startExtension(op wire.Op, renewal bool) *wire.Ask {
	h.extended, h.claim.Absent = true, 0
	start := h.home.now()
	x := wire.Extension{Op: op, Live: h, Over: &h.setting, Start: start}
	// A renewal may wait in the pipelines for as long as the hold is valid.
	x.Wait = max(h.home.Timeout(h.claim.TTL), h.remaining(start))
	if renewal {
		x.Decided = h.home.keeper
	}
	return h.home.cfg.Wire.Extend(&h.claim, &x)
}

// finishExtension draws the conclusion of a decided extension or verification.
func (h *Hold) finishExtension(ctx context.Context, ask *wire.Ask, cause error) *Problem {
	h.owner.Answered(ctx, ask)
	res := ask.Result()
	now := h.home.now()

	h.mu.Lock()
	defer h.unlock()
	// A success that arrives after the loss is not adopted. What it set is released: by
	// the loss, or by the release, queued behind it.
	h.expire(now)
	if p := h.over(); p != nil {
		return p
	}
	if res.Gone() && !h.outdated(ask) {
		h.lose(&Loss{Reason: lossReason(&res), Failure: ask.Failure(h.name, outcome.NoQuorum, nil, now.Sub(ask.Start))})
		return h.over()
	}
	if f := h.conclude(ask, &res, cause, now); f != nil {
		return &Problem{Failure: f}
	}
	return nil
}

// conclude acts on what the masters said of a lock that is still held. The caller must
// hold h.mu.
func (h *Hold) conclude(ask *wire.Ask, res *wire.Result, cause error, now drift.Instant) *outcome.Failure {
	took := now.Sub(ask.Start)
	// By the TTL that the masters were asked for: that of the hold may have been raised
	// since.
	validity := h.home.cfg.Validity(ask.TTL)
	switch {
	case res.Outcome != quorum.Granted:
		return ask.Failure(h.name, outcome.NoQuorum, cause, took)
	case ask.Op() == wire.OpVerify:
		return nil
	case validity <= took:
		f := ask.Failure(h.name, outcome.NoQuorum, cause, took)
		f.Note = "the answers took so long that they prolong nothing"
		return f
	case validity-took > h.remaining(now): // never shortened (S6)
		h.life.start, h.life.validity = ask.Start, validity
	}
	return nil
}

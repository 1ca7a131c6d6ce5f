package hold

import (
	"context"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/outcome"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/wire"
)

// Extend prolongs the hold to a full TTL from now (S6). It blocks until ctx ends, for the
// masters' timeout and the remaining validity at most. It also reports whether the masters
// were asked. The caller has just read the clock.
func (n *Handle) Extend(ctx context.Context, now drift.Instant) (asked bool, p *Problem) {
	return n.question(ctx, now, func(h *Hold) (*wire.Ask, *Problem) {
		return h.startExtension(wire.OpExtend, false), nil
	})
}

// Verify asks whether a quorum still has the lock. It changes nothing there. Otherwise it
// is like Extend.
func (n *Handle) Verify(ctx context.Context, now drift.Instant) (asked bool, p *Problem) {
	return n.question(ctx, now, func(h *Hold) (*wire.Ask, *Problem) {
		return h.home.cfg.Wire.Verify(&h.claim, h.home.now()), nil
	})
}

// Downgrade makes a writer's hold a reader's, and prolongs it. From the moment the question
// is sent the hold is a reader's, whatever the answer. Readers that wait for the key are
// called then. Otherwise it is like Extend.
func (n *Handle) Downgrade(ctx context.Context, now drift.Instant) (asked bool, p *Problem) {
	key := ""
	asked, p = n.question(ctx, now, func(h *Hold) (*wire.Ask, *Problem) {
		if h.claim.Kind != wire.Plain && h.claim.Kind != wire.Reader {
			return nil, &Problem{Kind: true}
		}
		if p := h.shared(); p != nil {
			return nil, p // the other handles are writers
		}
		if h.claim.Kind != wire.Reader {
			key = h.claim.Key()
		}
		h.claim.BecomeReader() // under mu, so the next command is a reader's
		return h.startExtension(wire.OpDowngrade, false), nil
	})
	if asked && key != "" {
		n.hold.home.cfg.Wire.AdmitReaders(key, true)
	}
	return asked, p
}

// question asks the masters a question about a hold, and waits for the answer. It asks once
// more if the fleet was closed meanwhile, for a move that this client takes part in. It calls
// start with the hold's mutex locked; start may refuse.
func (n *Handle) question(ctx context.Context, now drift.Instant, start func(h *Hold) (*wire.Ask, *Problem)) (asked bool, p *Problem) {
	asked, p = n.askOnce(ctx, now, start)
	if p == nil || p.Failure == nil || !n.meetsMove(ctx, p.Failure, min(n.hold.home.Timeout(n.hold.claim.TTL), n.Remaining())) {
		return asked, p
	}
	_, p = n.askOnce(ctx, n.hold.home.now(), start)
	return true, p
}

// askOnce is question without asking once more.
func (n *Handle) askOnce(ctx context.Context, now drift.Instant, start func(h *Hold) (*wire.Ask, *Problem)) (asked bool, p *Problem) {
	// Before the mutex is locked: the handle's own context locks it too.
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

// startExtension queues an extension. The caller must hold h.mu, so that no extension is
// queued behind the release.
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

// finishExtension acts on a decided extension or verification.
func (h *Hold) finishExtension(ctx context.Context, ask *wire.Ask, cause error) *Problem {
	h.owner.Answered(ctx, ask)
	res := ask.Result()
	now := h.home.now()

	h.mu.Lock()
	defer h.unlock()
	// A success that arrives after the loss does not count. The loss, or the release that
	// is queued behind the extension, releases what it has set.
	h.expire(now)
	if p := h.over(); p != nil {
		return p
	}
	if res.Gone() && !h.outdated(ask) {
		h.lose(&Loss{Reason: lossReason(&res), Failure: ask.Failure(h.name, outcome.NoQuorum, nil, now.Sub(ask.Start))})
		h.releaseUnasked() // of a minority's keys, which keep nobody out
		return h.over()
	}
	if f := h.conclude(ask, &res, cause, now); f != nil {
		return &Problem{Failure: f}
	}
	return nil
}

// conclude acts on the masters' answers about a lock that is still held. The caller must
// hold h.mu.
func (h *Hold) conclude(ask *wire.Ask, res *wire.Result, cause error, now drift.Instant) *outcome.Failure {
	took := now.Sub(ask.Start)
	// By the TTL that the masters were asked for: the hold's own may be longer now.
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
		h.life.start, h.life.validity, h.life.ttl = ask.Start, validity, ask.TTL
	}
	return nil
}

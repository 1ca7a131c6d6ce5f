package hold

import (
	"context"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/wire"
)

// Extend extends the hold to a full TTL from now (S6). It blocks until a decision, or until ctx
// ends, for the masters' timeout or the remaining validity at most. It also reports whether the
// masters were asked.
func (n *Handle) Extend(ctx context.Context) (asked bool, p *Problem) {
	return n.question(ctx, func(h *Hold) *wire.Ask {
		return h.startExtension(false)
	})
}

// Verify asks whether a quorum still has the lock. It changes nothing on the masters. Otherwise
// it works like Extend.
func (n *Handle) Verify(ctx context.Context) (asked bool, p *Problem) {
	return n.question(ctx, func(h *Hold) *wire.Ask {
		return h.manager.cfg.Wire.Verify(&h.claim, h.manager.now())
	})
}

// question asks the masters a question about a hold, and waits for the answer. It calls
// start with the hold's mutex locked.
func (n *Handle) question(ctx context.Context, start func(h *Hold) *wire.Ask) (asked bool, p *Problem) {
	// Before the mutex is locked: the handle's own context locks it too.
	over := ctx.Err()
	h := n.hold
	h.mu.Lock()
	now := h.manager.now()
	h.expire(now)
	p = n.unusable()
	if p == nil && over != nil {
		p = &Problem{Over: over}
	}
	limit := min(h.manager.AnswerTimeout(h.claim.TTL), h.life.remaining(now))
	var ask *wire.Ask
	if p == nil {
		ask = start(h)
	}
	h.mu.Unlock()
	if p != nil {
		return false, p
	}
	defer ask.Done()
	cause := ask.Wait(ctx, limit)
	h.owner.Answered(ctx, ask)
	h.mu.Lock()
	defer h.mu.Unlock()
	return true, h.finishExtension(h.manager.now(), ask, cause)
}

// startExtension queues an extension. The caller must hold h.mu, so that no extension is
// queued behind the release.
func (h *Hold) startExtension(renewal bool) *wire.Ask {
	h.extended, h.claim.Absent = true, 0
	start := h.manager.now()
	x := wire.Extension{Live: h, Over: &h.setting, Start: start}
	// A renewal may wait in the pipelines for as long as the hold is valid.
	x.Wait = max(h.manager.AnswerTimeout(h.claim.TTL), h.life.remaining(start))
	if renewal {
		x.Decided = h.manager.renewer
	}
	return h.manager.cfg.Wire.Extend(&h.claim, &x)
}

// finishExtension acts on a decided extension or verification. The caller must hold h.mu, and
// read the clock after locking it.
func (h *Hold) finishExtension(now drift.Instant, ask *wire.Ask, cause error) *Problem {
	res := ask.Result()
	// A success that arrives after the loss does not count. The loss, or the release that
	// is queued behind the extension, releases what it has set.
	h.expire(now)
	if p := h.over(); p != nil {
		return p
	}
	if res.Gone() {
		h.releaseUnasked() // at once: a minority's keys keep nobody out
		f := ask.Failure(h.name, quorum.NoQuorum, nil, now.Sub(ask.Start))
		h.lose(now, &Loss{Reason: lossReason(&res), Failure: f})
		return h.over()
	}
	if f := h.conclude(ask, &res, cause, now); f != nil {
		return &Problem{Failure: f}
	}
	return nil
}

// conclude acts on the masters' answers about a lock that is still held. The caller must
// hold h.mu.
func (h *Hold) conclude(ask *wire.Ask, res *wire.Result, cause error, now drift.Instant) *quorum.Failure {
	took := now.Sub(ask.Start)
	// The TTL of this question counts: the hold's own may be longer now.
	validity := h.manager.cfg.Validity(ask.TTL)
	switch {
	case res.Outcome != quorum.Granted:
		return ask.Failure(h.name, quorum.NoQuorum, cause, took)
	case ask.Op() == wire.OpVerify:
		return nil
	case validity <= took:
		f := ask.Failure(h.name, quorum.NoQuorum, cause, took)
		f.Note = "the answers took so long that they prolong nothing"
		return f
	case validity-took > h.life.remaining(now): // never shortened (S6)
		h.life.start, h.life.validity, h.life.ttl = ask.Start, validity, ask.TTL
	}
	return nil
}

package redlock

import (
	"context"
	"fmt"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/outcome"
	"github.com/redquorum/redquorum/internal/quorum"
)

// Extend prolongs the hold to a full TTL from now. It succeeds only if a quorum
// still held the lock when it was asked; masters that had lost the key get it
// again, and count from the next extension on (S6). It waits for ctx, the
// masters' timeout and the remaining validity at the most.
//
// An error matches ErrLost and ErrNotHeld when the lock is lost, ErrUnlocked
// and ErrNotHeld after Unlock, and ErrNoQuorum when too few masters answered:
// then the lock is still held for what is Remaining. A lock that expired is
// lost even if its key is free.
func (l *Lock) Extend(ctx context.Context) error {
	return l.question(ctx, opExtend, func(h *Lock) (*round, error) { return h.startExtension(opExtend, false), nil })
}

// question puts a question about a held lock to the masters, and waits for the
// answer. start gets the hold, with its mutex locked, and may refuse.
func (l *Lock) question(ctx context.Context, op operation, start func(h *Lock) (*round, error)) error {
	// Asked first: the lock's own context looks at the lock, under its mutex.
	over := ctx.Err()
	now := l.c.opts.clock.Now()
	h := l.hold()
	h.mu.Lock()
	lostNow := h.expire(now)
	err := h.unusableBy(l, op.String())
	if err == nil && over != nil {
		err = fmt.Errorf("redlock: %v %q: nothing was attempted: %w", op, l.key, over)
	}
	limit := min(h.c.nodeTimeout(h.opts.ttl), h.remaining(now))
	var r *round
	if err == nil {
		r, err = start(h)
	}
	h.mu.Unlock()
	if lostNow {
		h.afterLoss()
	}
	if err != nil {
		return err
	}
	defer r.LetGo()
	cause := r.Wait(ctx, limit)
	err = h.finishExtension(ctx, r, cause)
	l.traceExtend(ctx, op, now, err)
	return err
}

// startExtension queues an extension. The caller must hold l.mu, so that none
// is queued behind the release.
func (l *Lock) startExtension(op operation, renewal bool) *round {
	r := l.c.newRound(op)
	r.lock, r.ttl, r.Over = l, l.opts.ttl, &l.setting
	if renewal {
		r.Decided = l.c.keeper
	}
	l.setting.Add()
	l.extended, l.claim.absent = true, 0
	r.Start = l.c.opts.clock.Now()
	l.askExtend(r, argSetAgain)
	return r
}

// finishExtension draws the conclusion of a decided extension or verification.
func (l *Lock) finishExtension(ctx context.Context, r *round, cause error) error {
	r.traceNodes(ctx, l)
	res := r.result()
	now := l.c.opts.clock.Now()

	l.mu.Lock()
	// A success that arrives after the loss is not adopted. What it set is
	// released: by the loss, or by the Unlock, queued behind it.
	lostNow := l.expire(now)
	err := l.unusable(r.op.String())
	if err == nil && res.gone() && !l.outdated(r) {
		lostNow = l.lose(res.lossReason(), l.c.quorumError(r.err(l.key, outcome.NoQuorum, nil, now.Sub(r.Start))))
		err = l.unusable(r.op.String())
	}
	if err == nil {
		err = l.conclude(r, &res, cause, now)
	}
	l.mu.Unlock()
	if lostNow {
		l.afterLoss()
	}
	return err
}

// conclude acts on what the masters said of a lock that is still held. The
// caller must hold l.mu.
func (l *Lock) conclude(r *round, res *result, cause error, now drift.Instant) error {
	took := now.Sub(r.Start)
	// By the TTL that the masters were asked for: that of the hold may have
	// been raised since.
	validity := l.c.opts.validity(r.ttl)
	switch {
	case res.outcome != quorum.Granted:
		return l.c.quorumError(r.err(l.key, outcome.NoQuorum, cause, took))
	case r.op == opVerify:
		return nil
	case validity <= took:
		err := r.err(l.key, outcome.NoQuorum, cause, took)
		err.Note = "the answers took so long that they prolong nothing"
		return l.c.quorumError(err)
	case validity-took > l.remaining(now): // never shortened (S6)
		l.start, l.validity = r.Start, validity
	}
	return nil
}

// Verify asks the masters now whether a quorum still has the lock; it changes
// nothing there. If a majority says no, the lock is lost. Waiting and errors
// are those of Extend.
func (l *Lock) Verify(ctx context.Context) error {
	return l.question(ctx, opVerify, func(h *Lock) (*round, error) {
		r := h.c.newRound(opVerify)
		r.Start = h.c.opts.clock.Now()
		h.askVerify(r)
		return r, nil
	})
}

// Adopt takes over a hold whose token another process handed on (see
// [Lock.HandOver]). It succeeds if a quorum still has the token, and gives the
// hold a full TTL, WithTTL or WithLease as in Lock. It makes one attempt. An
// error matches ErrNotHeld when too many masters do not have the token, and
// ErrNoQuorum when too few answered; what the other process holds is not
// touched then.
func (c *Client) Adopt(ctx context.Context, key, token string, opts ...LockOption) (*Lock, error) {
	l, err := c.newLock(ctx, opAdopt, key, opts)
	if err != nil {
		return nil, err
	}
	return c.adopt(ctx, l, token)
}

// adopt adopts what a call is about, as newLock made it.
func (c *Client) adopt(ctx context.Context, l *Lock, token string) (*Lock, error) {
	key := l.key
	if n := len(token); n < 1 || n > maxToken {
		return nil, fmt.Errorf("redlock: adopt %q: the token has %d bytes: want 1 to %d", key, n, maxToken)
	}
	l.claim.token = token

	began := c.stopwatch()
	call := c.traceBegin(ctx, opAdopt, l, true)
	l.told = call
	adopted, err := c.adoptOnce(ctx, l)
	c.traceWait(call, opAdopt, l, adopted, 1, sinceStart(began), err)
	return adopted, err
}

// adoptOnce asks the masters, and begins the hold.
func (c *Client) adoptOnce(ctx context.Context, l *Lock) (*Lock, error) {
	key := l.key
	c.awaitVoters(ctx, l)
	r := c.newRound(opAdopt)
	defer r.LetGo()
	r.Start = c.opts.clock.Now()
	l.start, l.acquired = r.Start, r.Start
	l.askExtend(r, argLeaveMissing)
	cause := r.Wait(ctx, c.nodeTimeout(l.opts.ttl))
	r.traceNodes(l.told, l)
	res := r.result()
	now := c.opts.clock.Now()
	took := now.Sub(r.Start)
	l.validity = c.opts.validity(l.opts.ttl)
	if res.outcome == quorum.Granted {
		if err := l.settleFence(ctx, r, false); err != nil {
			return nil, c.quorumError(err)
		}
		now = c.opts.clock.Now()
		took = now.Sub(r.Start)
	}
	switch {
	case res.outcome == quorum.Granted && took < l.validity:
		l.granted = uint8(res.tally.OK)
		if !l.keep(now) {
			return nil, fmt.Errorf("redlock: adopt %q: %w", key, ErrClosed)
		}
		return l, nil
	case res.gone():
		return nil, c.quorumError(r.err(key, outcome.NotHeld, cause, took))
	default:
		return nil, c.quorumError(r.err(key, outcome.NoQuorum, cause, took))
	}
}

// HandOver ends this handle without releasing the key, and returns the token
// with which another process can Adopt the hold before its TTL has passed. The
// handle's context ends with ErrUnlocked, nothing renews the lock from here any
// more, and Unlock finds it not held. The error is that of Unlock for a lock
// that is not held; where other handles share the hold (see [WithReentrancy]) it
// matches ErrReentrant, and nothing was done.
//
// It waits for the answers to the acquisition and to extensions that are under
// way, for the masters' timeout at the most: one that is executed after the
// other process has released the key would set it again, for a TTL.
func (l *Lock) HandOver() (token string, err error) {
	now := l.c.opts.clock.Now()
	h := l.hold()
	h.mu.Lock()
	lostNow := h.expire(now)
	err = h.unusableBy(l, "hand over")
	if err == nil {
		err = h.sharedError("hand over")
	}
	if err == nil {
		h.leave(l)
		h.state, h.sent = unlocked, true
		if h.ctx != nil {
			h.ctx.cancel(ErrUnlocked)
		}
	}
	h.mu.Unlock()
	if lostNow {
		h.afterLoss()
	}
	if err != nil {
		return "", err
	}
	h.c.keeper.remove(h)
	h.traceReleased(EndHandedOver, nil, now)
	h.setting.Wait(h.c.nodeTimeout(h.opts.ttl))
	return h.claim.token, nil
}

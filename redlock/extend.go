package redlock

import (
	"context"
	"fmt"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/outcome"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/token"
	"github.com/redquorum/redquorum/internal/wire"
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
	return l.question(ctx, wire.OpExtend, func(h *Lock) (*wire.Ask, error) { return h.startExtension(wire.OpExtend, false), nil })
}

// question puts a question about a held lock to the masters, and waits for the
// answer. start gets the hold, with its mutex locked, and may refuse.
func (l *Lock) question(ctx context.Context, op wire.Op, start func(h *Lock) (*wire.Ask, error)) error {
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
	limit := min(h.c.nodeTimeout(h.claim.TTL), h.remaining(now))
	var r *wire.Ask
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
func (l *Lock) startExtension(op wire.Op, renewal bool) *wire.Ask {
	l.extended, l.claim.Absent = true, 0
	start := l.c.opts.clock.Now()
	x := wire.Extension{Op: op, Live: (*liveLock)(l), Over: &l.setting, Start: start}
	// A renewal may wait in the pipelines for as long as the lock is valid.
	x.Wait = max(l.c.nodeTimeout(l.claim.TTL), l.remaining(start))
	if renewal {
		x.Decided = l.c.keeper
	}
	return l.c.wire.Extend(&l.claim, &x)
}

// finishExtension draws the conclusion of a decided extension or verification.
func (l *Lock) finishExtension(ctx context.Context, r *wire.Ask, cause error) error {
	l.c.traceNodes(ctx, r, l)
	res := r.Result()
	now := l.c.opts.clock.Now()

	l.mu.Lock()
	// A success that arrives after the loss is not adopted. What it set is
	// released: by the loss, or by the Unlock, queued behind it.
	lostNow := l.expire(now)
	err := l.unusable(r.Op().String())
	if err == nil && res.Gone() && !l.outdated(r) {
		lostNow = l.lose(lossReason(&res), l.c.quorumError(r.Failure(l.key, outcome.NoQuorum, nil, now.Sub(r.Start))))
		err = l.unusable(r.Op().String())
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
func (l *Lock) conclude(r *wire.Ask, res *wire.Result, cause error, now drift.Instant) error {
	took := now.Sub(r.Start)
	// By the TTL that the masters were asked for: that of the hold may have
	// been raised since.
	validity := l.c.opts.validity(r.TTL)
	switch {
	case res.Outcome != quorum.Granted:
		return l.c.quorumError(r.Failure(l.key, outcome.NoQuorum, cause, took))
	case r.Op() == wire.OpVerify:
		return nil
	case validity <= took:
		err := r.Failure(l.key, outcome.NoQuorum, cause, took)
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
	return l.question(ctx, wire.OpVerify, func(h *Lock) (*wire.Ask, error) {
		return h.c.wire.Verify(&h.claim, h.c.opts.clock.Now()), nil
	})
}

// Adopt takes over a hold whose token another process handed on (see
// [Lock.HandOver]). It succeeds if a quorum still has the token, and gives the
// hold a full TTL, WithTTL or WithLease as in Lock. It makes one attempt. An
// error matches ErrNotHeld when too many masters do not have the token, and
// ErrNoQuorum when too few answered; what the other process holds is not
// touched then.
func (c *Client) Adopt(ctx context.Context, key, token string, opts ...LockOption) (*Lock, error) {
	l, err := c.newLock(ctx, wire.OpAdopt, key, opts)
	if err != nil {
		return nil, err
	}
	return c.adopt(ctx, l, token)
}

// adopt adopts what a call is about, as newLock made it.
func (c *Client) adopt(ctx context.Context, l *Lock, value string) (*Lock, error) {
	key := l.key
	if n := len(value); n < 1 || n > token.Max {
		return nil, fmt.Errorf("redlock: adopt %q: the token has %d bytes: want 1 to %d", key, n, token.Max)
	}
	l.claim.Token = value

	began := c.stopwatch()
	call := c.traceBegin(ctx, wire.OpAdopt, l, true)
	l.told = call
	adopted, err := c.adoptOnce(ctx, l)
	c.traceWait(call, wire.OpAdopt, l, adopted, 1, sinceStart(began), err)
	return adopted, err
}

// adoptOnce asks the masters, and begins the hold.
func (c *Client) adoptOnce(ctx context.Context, l *Lock) (*Lock, error) {
	key := l.key
	c.awaitVoters(ctx, l)
	start := c.opts.clock.Now()
	l.start, l.acquired = start, start
	r := c.wire.Extend(&l.claim, &wire.Extension{Op: wire.OpAdopt, Start: start, Wait: c.nodeTimeout(l.claim.TTL)})
	defer r.LetGo()
	cause := r.Wait(ctx, c.nodeTimeout(l.claim.TTL))
	c.traceNodes(l.told, r, l)
	res := r.Result()
	now := c.opts.clock.Now()
	took := now.Sub(r.Start)
	l.validity = c.opts.validity(l.claim.TTL)
	if res.Outcome == quorum.Granted {
		if err := l.settleFence(ctx, r, false); err != nil {
			return nil, c.quorumError(err)
		}
		now = c.opts.clock.Now()
		took = now.Sub(r.Start)
	}
	switch {
	case res.Outcome == quorum.Granted && took < l.validity:
		l.granted = uint8(res.Tally.OK)
		if !l.keep(now) {
			return nil, fmt.Errorf("redlock: adopt %q: %w", key, ErrClosed)
		}
		return l, nil
	case res.Gone():
		return nil, c.quorumError(r.Failure(key, outcome.NotHeld, cause, took))
	default:
		return nil, c.quorumError(r.Failure(key, outcome.NoQuorum, cause, took))
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
	h.setting.Wait(h.c.nodeTimeout(h.claim.TTL))
	return h.claim.Token, nil
}

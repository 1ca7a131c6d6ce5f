package redlock

import (
	"context"
	"errors"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/outcome"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/wire"
)

// Unlock ends the hold: its context ends, nothing renews it any more, and the
// key is deleted on every master where it is ours. That is always sent, also
// when ctx is already over; ctx and the masters' timeout only bound the waiting
// for a quorum to confirm.
//
// The result is nil when a quorum confirmed. It matches ErrNotHeld and
// ErrUnlocked when the lock was unlocked before, ErrNotHeld and ErrLost when it
// had been lost by now, and ErrNoQuorum when too few masters answered: they
// will be told when they can be reached again, or else the key expires by
// itself.
//
// Of several handles on one hold (see [WithReentrancy]) the last one's Unlock
// releases; those before it end their handle, ask nobody and return nil.
func (l *Lock) Unlock(ctx context.Context) error {
	began := l.c.opts.clock.Now()
	h := l.hold()
	h.mu.Lock()
	lostNow := h.expire(began)
	err := h.unusableBy(l, wire.OpRelease.String())
	last := h.leave(l)
	if err == nil && last {
		h.state = unlocked
		if h.ctx != nil {
			h.ctx.cancel(ErrUnlocked) // before the masters can give the key away
		}
	}
	var r *wire.Ask
	if last && !h.sent {
		r = h.startRelease(true)
	}
	h.mu.Unlock()
	if lostNow {
		h.afterLoss()
	}
	ok, need := 0, 0
	if err == nil && last {
		h.c.keeper.remove(h)
		ok, err = h.awaitRelease(ctx, r, began)
		need = h.c.need
		h.ended(began, err)
	} else if r != nil {
		r.LetGo()
	}
	l.traceUnlock(ctx, h, began, ok, need, err)
	return err
}

// ended tells of a hold that was unlocked at an instant, or was found to have
// been lost by then.
func (l *Lock) ended(at drift.Instant, err error) {
	if lost, ok := errors.AsType[*LostError](err); ok {
		l.traceLost(lost)
		l.traceReleased(lost.end(), lost, at)
		return
	}
	l.traceReleased(EndUnlocked, nil, at)
}

// startRelease queues the release on every master that may have the key, and
// keeps it for those that cannot be reached now, for as long as the key can
// live there. With handOver, whoever waits first is told. The caller must hold
// l.mu, and let go of the round; nil: there is no master to tell.
func (l *Lock) startRelease(handOver bool) *wire.Ask {
	l.sent = true
	return l.c.wire.Release(&l.claim, l.keepRelease(), handOver)
}

// awaitRelease waits for a quorum to confirm a release, and counts who has
// by then.
func (l *Lock) awaitRelease(ctx context.Context, r *wire.Ask, began drift.Instant) (ok int, err error) {
	defer r.LetGo()
	cause := r.Wait(ctx, l.c.nodeTimeout(l.claim.TTL))
	l.c.traceNodes(ctx, r, l)
	res := r.Result()
	switch {
	case res.Outcome == quorum.Granted:
		return res.Tally.OK, nil
	case res.Gone():
		return res.Tally.OK, &notHeldError{wire.OpRelease.String(), l.key, &LostError{Key: l.key, Reason: lossReason(&res)}}
	default:
		return res.Tally.OK, l.c.quorumError(r.Failure(l.key, outcome.NoQuorum, cause, l.c.opts.clock.Now().Sub(began)))
	}
}

// keepRelease is until when a release is worth sending: as long as a key that
// is set now can live.
func (l *Lock) keepRelease() time.Time {
	return time.Now().Add(l.claim.TTL + l.c.opts.drift.Allowance(l.claim.TTL))
}

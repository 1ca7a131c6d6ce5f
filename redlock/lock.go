package redlock

import (
	"context"
	"fmt"
	"time"

	"github.com/redquorum/redquorum/internal/hold"
	tokens "github.com/redquorum/redquorum/internal/token"
	"github.com/redquorum/redquorum/internal/wire"
)

// A Lock is one hold, as [Client.Lock] and its siblings return it. It is held until [Lock.Unlock],
// or until it is lost: then [Lock.Context] ends. It is safe for concurrent use.
type Lock struct { // of 568 bytes: for a larger one the allocator would take 64 bytes more
	c      *Client
	opts   lockOptions
	handle hold.Handle // on own, on the hold of a later attempt, or on the hold of another Lock (WithReentrancy)
	own    hold.Hold   // for the first attempt; here to save an allocation
	// traceCtx is the context that the trace made: first for the call that acquires, then, once the
	// lock is held, for the hold. nil: none. It does not change while the lock is held.
	traceCtx context.Context

	keepsReadersOut bool // while it waits, as a writer
}

// Key is the key as it was given to Lock, without the prefix.
func (l *Lock) Key() string { return l.handle.Hold().Name() }

// Keys is all keys of the hold; just the one for a lock of one key.
func (l *Lock) Keys() []string {
	h := l.handle.Hold()
	return append([]string{h.Name()}, h.Others()...)
}

// Token is the value of the key in Redis: the owner name if there is one, the client's xid, and a
// random part; new for every attempt. It proves ownership to Redis, and Adopt takes it. It does not
// rise: give [Lock.Fence] to a resource.
func (l *Lock) Token() string { return l.handle.Hold().Claim().Token }

// Remaining is for how much longer the lock is guaranteed, computed now, on a
// clock that counts time during which the machine was suspended. 0: it is not
// held any more.
func (l *Lock) Remaining() time.Duration { return l.handle.Remaining() }

// ValidUntil is the time until which the lock is guaranteed unless it is extended, by this
// machine's wall clock at the start of the last attempt, extension or renewal. It is a snapshot for
// people and logs. Decide by Remaining and Context.
func (l *Lock) ValidUntil() time.Time { return l.handle.ValidUntil() }

// problemError makes the public error of an operation that failed; nil: it succeeded.
func (l *Lock) problemError(op string, p *hold.Problem) error {
	switch {
	case p == nil:
		return nil
	case p.Unlocked:
		return &notHeldError{op, l.Key(), ErrUnlocked}
	case p.Loss != nil:
		return &notHeldError{op, l.Key(), lostError(p.Loss)}
	case p.Shared > 0:
		return &sharedHoldError{op, l.Key(), p.Shared}
	case p.Over != nil:
		return &notAttemptedError{op, l.Key(), p.Over}
	default:
		return l.c.errs.quorumError(p.Failure)
	}
}

// Extend prolongs the hold to a full TTL from now. It succeeds only if a quorum
// still held the lock when it was asked. Masters that had lost the key get it again,
// and count from the next extension on. It waits for ctx, the masters' timeout
// and the remaining validity at the most.
//
// An error matches ErrLost and ErrNotHeld when the lock is lost, ErrUnlocked and ErrNotHeld after
// Unlock, and ErrNoQuorum when too few masters answered: then the lock is still held, for the time
// that Remaining gives. A lock that expired is lost even if its key is free.
func (l *Lock) Extend(ctx context.Context) error {
	return l.ask(ctx, wire.OpExtend, (*hold.Handle).Extend)
}

// Verify asks the masters now whether a quorum still has the lock; it changes nothing there. If a
// majority says no, the lock is lost. It waits and fails as Extend does.
func (l *Lock) Verify(ctx context.Context) error {
	return l.ask(ctx, wire.OpVerify, (*hold.Handle).Verify)
}

// ask asks the masters what the holder wants to know, and reports the answer to the trace.
func (l *Lock) ask(
	ctx context.Context, op wire.Op, question func(*hold.Handle, context.Context) (bool, *hold.Problem),
) error {
	if err := l.c.check(ctx); err != nil {
		return fmt.Errorf("redlock: %v %q: %w", op, l.Key(), err)
	}
	began := l.c.opts.clock.Now()
	asked, p := question(&l.handle, ctx)
	err := endedBy(ctx, l.problemError(op.String(), p))
	if asked {
		l.traceExtend(ctx, op, began, err)
	}
	return err
}

// Unlock ends the hold: its context ends, nothing renews it any more, and the key is deleted on
// every master where it is ours. The release is always sent, even if ctx has already ended. ctx and
// the masters' timeout only bound the waiting for a quorum to confirm. If ctx ends with the lock,
// as the contexts of Lock.Context and Do do, only its deadline bounds the waiting: the unlock
// itself ends ctx.
//
// The result is nil when a quorum confirmed. It matches ErrNotHeld and ErrUnlocked when the lock
// was unlocked before, ErrNotHeld and ErrLost when it had been lost by now, and ErrNoQuorum when
// too few masters answered or released it. Masters that did not answer get the release when they
// can be reached again. Masters that refused it, for whatever reason, get it again after pauses of
// 50 ms to 5 s. Otherwise the key expires by itself.
//
// Where several handles share a hold (see [WithReentrancy]), the Unlock of the last
// one releases it. Each Unlock before that ends its handle, asks no master and
// returns nil.
func (l *Lock) Unlock(ctx context.Context) error {
	began := l.c.opts.clock.Now()
	if ctx == nil {
		ctx = context.Background() // such a mistake must not leave a lock behind
	}
	waiting, stop := l.untilUnlocked(ctx)
	defer stop()
	released, p := l.handle.Release(waiting)
	err := endedBy(waiting, l.problemError(wire.OpRelease.String(), p))
	if q, ok := err.(*QuorumError); ok && q.cause != nil { //nolint:errorlint // it is this call's own
		q.note = "the release was sent, its answers were not awaited"
	}
	l.traceUnlock(ctx, began, &released, err)
	return err
}

// Adopt takes over a hold from another process: that process calls [Lock.HandOver] and sends the
// token, and this one calls Adopt with it. It is an acquisition that needs the token at a quorum
// instead of a free key. The returned lock has a new token, which has replaced the old one, a full
// TTL (WithTTL or WithLease, as in Lock), and with WithFencing a new fencing token. So Adopt
// succeeds at most once for a token, however many callers try.
//
// Call it after HandOver has returned, or when the holder's validity is over. A holder that goes on
// meanwhile loses the lock, and notices that at its next renewal.
//
// Adopt makes one attempt. It blocks for one or two round trips, and for the masters' timeout at
// most. An error matches ErrNotHeld when too many masters do not have the token, and ErrNoQuorum
// when too few answered. A failed attempt may have used the token up, at some masters or at all: it
// releases what it has taken over, and never puts the old token back. The key is then free when the
// rest of it has expired, after its TTL at the latest. Masters that do not have the token are not
// changed.
func (c *Client) Adopt(ctx context.Context, key, token string, opts ...LockOption) (*Lock, error) {
	l, err := c.newLock(ctx, wire.OpAdopt, key, opts)
	if err != nil {
		return nil, err
	}
	return c.adopt(ctx, l, token)
}

// adopt adopts the hold with this token for a lock that newLock has made.
func (c *Client) adopt(ctx context.Context, l *Lock, token string) (*Lock, error) {
	if n := len(token); n < 1 || n > tokens.Max {
		return nil, fmt.Errorf("redlock: adopt %q: the token has %d bytes: want 1 to %d", l.Key(), n, tokens.Max)
	}
	began := c.tracer.stopwatch()
	l.traceCtx = c.tracer.begin(ctx, wire.OpAdopt, l, nil, true)
	call := l.traceCtx
	var err error
	adopted := l
	if failed := l.handle.Adopt(ctx, token); failed != nil {
		adopted = nil
		err = endedBy(ctx, c.errs.failureError(failed))
	}
	c.tracer.wait(call, wire.OpAdopt, l.Key(), adopted, 1, sinceStart(began), err)
	return adopted, err
}

// HandOver ends this handle as [Lock.Unlock] does, but it does not release the key. With the token
// that it returns, another process can take over the hold by [Client.Adopt] before its TTL has
// passed. The handle's context ends with ErrUnlocked, this process no longer renews the lock, and
// Unlock finds it not held. For a lock that is not held, HandOver fails as Unlock does. If other
// handles share the hold (see [WithReentrancy]), the error matches ErrReentrant, and nothing was
// done. A reader's hold is not handed over: any process can be one more reader.
//
// It waits for the answers to the acquisition and to extensions that are under way, at most for as
// long as the lock was valid. For a master that has stopped, it waits until the connection is given
// up (pool.WithStallLimit, 1 s by default). Otherwise such a command could be executed after the
// other process has released the key, and would set the key again for a TTL.
func (l *Lock) HandOver() (token string, err error) {
	if l.handle.Hold().Claim().Kind == wire.Reader {
		return "", fmt.Errorf("redlock: hand over %q: a reader's hold is not handed over: "+
			"unlock it, and lock for reading in the other process", l.Key())
	}
	token, p := l.handle.HandOver()
	return token, l.problemError("hand over", p)
}

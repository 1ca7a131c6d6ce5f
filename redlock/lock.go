package redlock

import (
	"context"
	"fmt"
	"time"

	"github.com/redquorum/redquorum/internal/hold"
	tokens "github.com/redquorum/redquorum/internal/token"
	"github.com/redquorum/redquorum/internal/wire"
)

// A Lock is one hold: what [Client.Lock] and its siblings return. It is held
// until [Lock.Unlock], or until it is lost, which [Lock.Context] tells. It is
// safe for concurrent use.
type Lock struct { // of 568 bytes: with more the allocator would take 64 more
	c      *Client
	opts   lockOptions
	handle hold.Handle // on own, on that of a later attempt, or on that of another Lock (WithReentrancy)
	own    hold.Hold   // for the first attempt; here to save an allocation
	// What the trace made a context of: first the call that acquires, from the
	// moment it is held the hold. nil: nothing. Not changed while it is held.
	told context.Context

	keepsReadersOut bool // while it waits, as a writer
}

// Key is the key as it was given to Lock, without the prefix.
func (l *Lock) Key() string { return l.handle.Hold().Name() }

// Keys is all keys of the hold; just the one for a lock of one key.
func (l *Lock) Keys() []string {
	h := l.handle.Hold()
	return append([]string{h.Name()}, h.Others()...)
}

// Token is the value that stands in Redis: owner name if one was given, the
// client's xid, and a random part; new for every attempt. It proves ownership to
// Redis, and Adopt takes it. It does not rise: to a resource give [Lock.Fence].
func (l *Lock) Token() string { return l.handle.Hold().Claim().Token }

// Remaining is for how much longer the lock is guaranteed, computed now, on a
// clock that counts time during which the machine was suspended. 0: it is not
// held any more.
func (l *Lock) Remaining() time.Duration { return l.handle.Remaining() }

// ValidUntil is until when the lock is guaranteed unless it is extended, by this
// machine's wall clock at the start of the last attempt, extension or renewal. It is
// a snapshot for people and logs. Decide by Remaining and Context.
func (l *Lock) ValidUntil() time.Time { return l.handle.ValidUntil() }

// problemError is the public error of what became of an operation; nil: it was done.
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
		return l.c.quorumError(p.Failure)
	}
}

// Extend prolongs the hold to a full TTL from now. It succeeds only if a quorum
// still held the lock when it was asked. Masters that had lost the key get it again,
// and count from the next extension on. It waits for ctx, the masters' timeout
// and the remaining validity at the most.
//
// An error matches ErrLost and ErrNotHeld when the lock is lost, ErrUnlocked and
// ErrNotHeld after Unlock, and ErrNoQuorum when too few masters answered: then the
// lock is still held for what is Remaining. A lock that expired is lost even if its
// key is free.
func (l *Lock) Extend(ctx context.Context) error {
	return l.ask(ctx, wire.OpExtend, (*hold.Handle).Extend)
}

// Verify asks the masters now whether a quorum still has the lock; it changes
// nothing there. If a majority says no, the lock is lost. Waiting and errors
// are those of Extend.
func (l *Lock) Verify(ctx context.Context) error {
	return l.ask(ctx, wire.OpVerify, (*hold.Handle).Verify)
}

// ask puts a question of the holder's to the masters, and tells of its answer.
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

// Unlock ends the hold: its context ends, nothing renews it any more, and the key is
// deleted on every master where it is ours. The release is always sent, also when
// ctx is already over. ctx and the masters' timeout only bound the waiting for a
// quorum to confirm. If ctx ends with the lock, as Context and that of Do do, only its
// deadline bounds the waiting: the unlock itself ends ctx.
//
// The result is nil when a quorum confirmed. It matches ErrNotHeld and ErrUnlocked
// when the lock was unlocked before, ErrNotHeld and ErrLost when it had been lost by
// now, and ErrNoQuorum when too few masters answered or did it. Those that did not answer
// get the release when they can be reached again. Those that refused it, for whatever
// reason, get it again after pauses of 50 ms to 5 s. Or else the key expires by itself.
//
// Where several handles share a hold (see [WithReentrancy]), the Unlock of the last
// one releases it. Each Unlock before that ends its handle, asks no master and
// returns nil.
func (l *Lock) Unlock(ctx context.Context) error {
	began := l.c.opts.clock.Now()
	if ctx == nil {
		ctx = context.Background() // a lock must not stay for a mistake like that
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

// Adopt takes over a hold whose token another process handed on: that process calls
// [Lock.HandOver] and sends its result, this one adopts with it. It is an acquisition for
// which the key need not be free: the token has to stand there at a quorum. The lock that
// it returns has a token of its own, which has taken the place of the other, a full TTL,
// WithTTL or WithLease as in Lock, and with WithFencing a new fencing token. So Adopt
// succeeds at most once for a token, however many call it.
//
// Call it after HandOver has returned, or when the holder's validity is over. A
// holder that goes on meanwhile loses the lock: it hears of that by its next
// renewal.
//
// Adopt makes one attempt. It blocks for one or two round trips, and in all at the most
// for the masters' timeout. An error matches ErrNotHeld when too many masters do
// not have the token, and ErrNoQuorum when too few answered. A failed attempt may
// have used the token up, at some masters or at all: it releases what it has taken
// over, and never puts the old token back. Then the key is free when what is left
// of it has expired, after its TTL at the latest. Masters that do not have the
// token are not touched.
func (c *Client) Adopt(ctx context.Context, key, token string, opts ...LockOption) (*Lock, error) {
	l, err := c.newLock(ctx, wire.OpAdopt, key, opts)
	if err != nil {
		return nil, err
	}
	return c.adopt(ctx, l, token)
}

// adopt adopts what a call is about, as newLock made it.
func (c *Client) adopt(ctx context.Context, l *Lock, token string) (*Lock, error) {
	if n := len(token); n < 1 || n > tokens.Max {
		return nil, fmt.Errorf("redlock: adopt %q: the token has %d bytes: want 1 to %d", l.Key(), n, tokens.Max)
	}
	began := c.stopwatch()
	l.told = c.traceBegin(ctx, wire.OpAdopt, l, nil, true)
	call := l.told
	var err error
	adopted := l
	if failed := l.handle.Adopt(ctx, token); failed != nil {
		adopted = nil
		err = endedBy(ctx, c.failureError(failed))
	}
	c.traceWait(call, wire.OpAdopt, l.Key(), adopted, 1, sinceStart(began), err)
	return adopted, err
}

// HandOver ends this handle without releasing the key, where [Lock.Unlock] would
// release it. It returns the token with which another process can take the hold over
// by [Client.Adopt] before its TTL has passed. The handle's
// context ends with ErrUnlocked, this process renews the lock no more, and Unlock
// finds it not held. For a lock that is not held the error is that of Unlock. Where
// other handles share the hold (see [WithReentrancy]) it matches ErrReentrant, and
// nothing was done. A reader's hold is not handed over: any process can be one more
// reader.
//
// It waits for the answers to the acquisition and to extensions that are under way,
// for as long as the lock was valid at the most; for a master that has stopped, until
// its connection is given up (pool.WithStallLimit, 1 s by default). Otherwise one of
// these, executed after the other process has released the key, would set it again for
// a TTL.
func (l *Lock) HandOver() (token string, err error) {
	if l.handle.Hold().Claim().Kind == wire.Reader {
		return "", fmt.Errorf("redlock: hand over %q: a reader's hold is not handed over: "+
			"unlock it, and lock for reading in the other process", l.Key())
	}
	token, p := l.handle.HandOver()
	return token, l.problemError("hand over", p)
}

package redlock

import (
	"context"
	"time"

	"github.com/redquorum/redquorum/internal/hold"
)

// A Lock is one hold: what [Client.Lock] and its siblings return. It is held
// until [Lock.Unlock], or until it is lost, which [Lock.Context] tells. It is
// safe for concurrent use.
type Lock struct {
	c      *Client
	opts   lockOptions
	handle hold.Handle // on own, on that of a later attempt, or on that of another Lock (WithReentrancy)
	own    hold.Hold   // for the first attempt; here to save an allocation
	// What the trace made a context of: first the call that acquires, from the
	// moment it is held the hold. nil: nothing. Not changed while it is held.
	told   context.Context
	intent *intent // of a writer that keeps readers out while it waits; nil: none
}

// Key is the key as it was given to Lock, without the prefix.
func (l *Lock) Key() string { return l.handle.Hold().Name() }

// Keys is all keys of the hold; just the one for a lock of one key.
func (l *Lock) Keys() []string {
	h := l.handle.Hold()
	return append([]string{h.Name()}, h.Others()...)
}

// Token is the value that stands in Redis: owner name if one was given, the
// client's xid, and a random part; new for every attempt. It proves ownership
// to Redis. It is not a fencing token: it does not rise.
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
	case p.Kind:
		return &kindError{op, l.Key()}
	case p.Over != nil:
		return &notAttemptedError{op, l.Key(), p.Over}
	default:
		return l.c.quorumError(p.Failure)
	}
}

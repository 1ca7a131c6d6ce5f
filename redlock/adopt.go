package redlock

import (
	"context"
	"fmt"

	tokens "github.com/redquorum/redquorum/internal/token"
	"github.com/redquorum/redquorum/internal/wire"
)

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
func (c *Client) adopt(ctx context.Context, l *Lock, token string) (*Lock, error) {
	if n := len(token); n < 1 || n > tokens.Max {
		return nil, fmt.Errorf("redlock: adopt %q: the token has %d bytes: want 1 to %d", l.Key(), n, tokens.Max)
	}
	began := c.stopwatch()
	l.told = c.traceBegin(ctx, wire.OpAdopt, l, true)
	call := l.told
	var err error
	adopted := l
	if failed := l.handle.Adopt(ctx, token); failed != nil {
		adopted = nil
		err = c.failureError(failed)
	}
	c.traceWait(call, wire.OpAdopt, l, adopted, 1, sinceStart(began), err)
	return adopted, err
}

// HandOver ends this handle without releasing the key. It returns the token with
// which another process can Adopt the hold before its TTL has passed. The handle's
// context ends with ErrUnlocked, this process renews the lock no more, and Unlock
// finds it not held. For a lock that is not held the error is that of Unlock. Where
// other handles share the hold (see [WithReentrancy]) it matches ErrReentrant, and
// nothing was done.
//
// It waits for the answers to the acquisition and to extensions that are under way,
// for the masters' timeout at the most. Otherwise one of these, executed after the
// other process has released the key, would set it again for a TTL.
func (l *Lock) HandOver() (token string, err error) {
	token, p := l.handle.HandOver(l.c.opts.clock.Now())
	return token, l.problemError("hand over", p)
}

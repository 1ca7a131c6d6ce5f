package redlock

import (
	"context"
	"errors"

	"github.com/redquorum/redquorum/internal/hold"
)

// Context ends when the lock can no longer be guaranteed, with a *LostError as
// its cause, or when it is unlocked, with ErrUnlocked (see context.Cause). It
// is not bound to the context under which the lock was acquired. Locking the
// same key again under it is refused with ErrReentrant, or [WithReentrancy]
// shares the hold.
func (l *Lock) Context() context.Context {
	return l.handle.Context(func() context.Context { return withHold(context.Background(), l) })
}

// WithContext gives a child of ctx, with its values and its cancellation, that
// also ends when the lock does, with the same cause. Call the function when
// the context is needed no more.
func (l *Lock) WithContext(ctx context.Context) (context.Context, context.CancelFunc) {
	child, cancel := context.WithCancelCause(withHold(ctx, l))
	ended := l.Context()
	stop := context.AfterFunc(ended, func() { cancel(context.Cause(ended)) })
	return &boundContext{child, cancel, ended}, func() {
		stop()
		cancel(context.Canceled)
	}
}

// A boundContext is a child of the caller's context. Its Err also looks at the hold, so that it
// never lags behind it.
type boundContext struct {
	context.Context
	cancel context.CancelCauseFunc
	hold   context.Context
}

func (c *boundContext) Err() error {
	if c.hold.Err() != nil {
		c.cancel(context.Cause(c.hold))
	}
	return c.Context.Err()
}

// holds is the list of holds that a context carries, innermost first.
type holds struct {
	lock  *Lock
	outer *holds
}

type holdsKey struct{}

func withHold(ctx context.Context, l *Lock) context.Context {
	outer, _ := ctx.Value(holdsKey{}).(*holds)
	return context.WithValue(ctx, holdsKey{}, &holds{l, outer})
}

// FromContext gives the innermost lock that ctx was made under, by Do, by
// Lock.Context or by Lock.WithContext.
func FromContext(ctx context.Context) (*Lock, bool) {
	h, ok := ctx.Value(holdsKey{}).(*holds)
	if !ok {
		return nil, false
	}
	return h.lock, true
}

// untilUnlocked returns the context that bounds the wait of Unlock. A context that carries the
// lock's hold ends with the unlock itself, so only its deadline bounds the wait. A context that had
// already ended, except by an unlock, ends the wait at once.
func (l *Lock) untilUnlocked(ctx context.Context) (context.Context, context.CancelFunc) {
	if !carries(ctx, l.handle.Hold()) || ctx.Err() != nil && !errors.Is(context.Cause(ctx), ErrUnlocked) {
		return ctx, func() {}
	}
	if deadline, ok := ctx.Deadline(); ok {
		return context.WithDeadline(context.WithoutCancel(ctx), deadline)
	}
	return context.WithoutCancel(ctx), func() {}
}

// carries reports whether ctx was made under a handle of the hold.
func carries(ctx context.Context, h *hold.Hold) bool {
	found, _ := ctx.Value(holdsKey{}).(*holds)
	for ; found != nil; found = found.outer {
		if found.lock.handle.Hold() == h {
			return true
		}
	}
	return false
}

// holdIn finds a hold of this client on key that ctx carries and that has not
// been unlocked.
func (c *Client) holdIn(ctx context.Context, key string) *Lock {
	h, _ := ctx.Value(holdsKey{}).(*holds)
	for ; h != nil; h = h.outer {
		if h.lock.c == c && h.lock.has(key) && h.lock.handle.IsHeld() {
			return h.lock
		}
	}
	return nil
}

package redlock

import (
	"context"
	"errors"
	"fmt"
)

// Do locks key as Lock does, runs fn while the lock is held, and unlocks, also when
// fn panics or calls runtime.Goexit. fn's context is a child of ctx that also ends
// when the lock can no longer be guaranteed (context.Cause tells which). FromContext
// finds the lock in it.
//
// Do waits for the lock and then runs fn, also if the last holder has done the same
// work. A lock does not remember that the work was done: fn looks for that itself.
//
// If the lock could not be acquired, fn did not run, and Do returns the error of Lock. Only then
// does it match ErrTaken or ErrNoQuorum, so a caller may try again on those without running fn
// twice. Otherwise Do returns fn's error, with those two hidden. If the lock was lost meanwhile,
// the error matches ErrLost as well, even if fn returned nil. If the lock has ended before fn could
// begin, fn does not run, and the error matches ErrLost, or ErrUnlocked if Trace.Held has unlocked
// it. A release that could not be confirmed is no error of Do: the work is done and the key expires
// by itself. Trace and log report it.
func (c *Client) Do(ctx context.Context, key string, fn func(ctx context.Context) error, opts ...LockOption) error {
	return c.do(ctx, key, fn, opts, (*Client).Lock)
}

// TryDo is Do for work that may be skipped while somebody else does it. It makes one
// attempt, as TryLock does, and runs fn only if the key is free. If somebody else
// holds the key, TryDo returns after about one round trip with an error that matches
// ErrTaken, and fn did not run. For many callers that is no failure. Everything else
// is as with Do; ErrNoQuorum comes at once, too.
//
// TryDo keeps two runs from overlapping. It does not keep a later run from doing the
// work again: once fn has returned, the key is free.
func (c *Client) TryDo(ctx context.Context, key string, fn func(ctx context.Context) error, opts ...LockOption) error {
	return c.do(ctx, key, fn, opts, (*Client).TryLock)
}

func (c *Client) do(
	ctx context.Context, key string, fn func(ctx context.Context) error, opts []LockOption,
	acquire func(*Client, context.Context, string, ...LockOption) (*Lock, error),
) error {
	if fn == nil {
		return fmt.Errorf("redlock: do %q: the function is nil", key)
	}
	l, err := acquire(c, ctx, key, opts...)
	return doHeld(ctx, l, err, fn)
}

// doHeld is the rest of Do after the acquisition, which may have failed with err.
func doHeld(ctx context.Context, l *Lock, err error, fn func(ctx context.Context) error) error {
	if err != nil {
		return err
	}
	lost, err := l.run(ctx, fn)
	return joinLoss(lost, err)
}

// run runs fn under an acquired lock, unless that has already ended, and unlocks. lost says how the
// lock was lost before the unlock.
func (l *Lock) run(ctx context.Context, fn func(ctx context.Context) error) (lost, err error) {
	c, done := l.c, make(chan struct{})
	c.mu.Lock()
	closed := c.closed != nil
	if !closed {
		c.doing[l] = done
	}
	c.mu.Unlock()
	if closed {
		_ = l.Unlock(ctx) // Close does so as well
		return nil, endedBy(ctx, fmt.Errorf("redlock: do %q: the function was not run: %w", l.Key(), ErrClosed))
	}
	inner, cancel := l.WithContext(ctx)
	ran := false
	// Deferred, so that it happens on a panic and on Goexit as well.
	defer func() {
		lost = l.endDo(ctx)
		cancel()
		c.mu.Lock()
		delete(c.doing, l)
		c.mu.Unlock()
		close(done)
		if err = hideKinds(err); !ran { // the unlock may have ended ctx
			lost, err = endedBy(ctx, lost), endedBy(ctx, err)
		}
	}()
	if held := l.Context(); held.Err() != nil { // a trace, or a pause, has taken longer than the lock was valid
		if context.Cause(held) == ErrUnlocked { //nolint:errorlint // the very one
			return nil, &notHeldError{"do", l.Key(), ErrUnlocked}
		}
		return nil, nil // the deferred function finds the loss
	}
	ran = true
	return nil, fn(inner)
}

// endDo unlocks, and returns the loss if the lock was lost before. It waits for the release for the
// masters' timeout at most, even if the caller's context has ended.
func (l *Lock) endDo(ctx context.Context) error {
	err := l.Unlock(context.WithoutCancel(ctx))
	if lost, ok := errors.AsType[*LostError](err); ok {
		return lost
	}
	if err != nil && !errors.Is(err, ErrUnlocked) { // fn may unlock by itself
		l.c.opts.logger.Warn("release not confirmed", "key", l.Key(), "error", err)
	}
	return nil
}

func joinLoss(lost, err error) error {
	switch {
	case lost == nil:
		return err
	case err == nil:
		return lost
	default:
		return &lostDuringError{lost, err}
	}
}

// A lostDuringError is fn's error when the lock was lost as well; one line.
type lostDuringError struct{ lost, err error }

func (e *lostDuringError) Error() string   { return e.lost.Error() + "; " + e.err.Error() }
func (e *lostDuringError) Unwrap() []error { return []error{e.lost, e.err} }

// hideKinds masks ErrTaken and ErrNoQuorum in fn's error: from Do they mean that fn did
// not run.
func hideKinds(err error) error {
	if errors.Is(err, ErrTaken) || errors.Is(err, ErrNoQuorum) {
		return &innerError{err}
	}
	return err
}

// An innerError is an error that does not match ErrTaken or ErrNoQuorum.
type innerError struct{ err error }

func (e *innerError) Error() string { return e.err.Error() }

// Is reports whether any error of the chain except those two matches.
func (e *innerError) Is(target error) bool {
	return target != ErrTaken && target != ErrNoQuorum && errors.Is(e.err, target)
}

// As searches the whole chain.
func (e *innerError) As(target any) bool { return errors.As(e.err, target) }

package redlock

import (
	"context"
	"errors"
	"fmt"

	"github.com/redquorum/redquorum/internal/hold"
	"github.com/redquorum/redquorum/internal/wire"
)

// WithReentrancy lets a call lock what its context already holds. Without it such a call is refused
// with ErrReentrant. With it the call returns a further handle on the same hold, and asks no
// master. Only if it wants a longer TTL than the hold has, the hold is extended to that TTL, and
// renewed with it from then on. The call that acquired the hold decides whether and how it is
// renewed. The keys must be the same: a call that names other keys beside one that the context
// holds is refused.
//
// The key is released by the Unlock of the last handle, whichever that is. A
// handle's context ends with the handle, and with the loss of the hold.
//
// The context is what lets a call in (see [Lock.Context], [Lock.WithContext],
// [Client.Do]), because a goroutine has no identity in Go. If you hand the context
// to other goroutines, it lets them in as well, at the same time. It lets nobody in
// once its handle is unlocked or the hold is lost. The call then makes an attempt of
// its own, as it does under a context of another client.
func WithReentrancy() LockOption {
	return lockOption(func(o *lockOptions) error {
		o.reenter = true
		return nil
	})
}

// A sharedHoldError refuses what would take the hold from other handles.
type sharedHoldError struct {
	op, key string
	others  int
}

func (e *sharedHoldError) Error() string {
	return fmt.Sprintf("redlock: %s %q: other handles that share the hold: %d: want them unlocked first",
		e.op, e.key, e.others)
}

func (e *sharedHoldError) Unwrap() error { return ErrReentrant }

// reenterFor returns the result of a call for wanted, if the context carries a hold on one of its
// keys. Otherwise both results are nil.
func (c *Client) reenterFor(ctx context.Context, wanted *Lock) (*Lock, error) {
	if ctx.Value(holdsKey{}) == nil {
		return nil, nil
	}
	for _, key := range wanted.Keys() {
		outer := c.holdIn(ctx, key)
		if outer == nil {
			continue
		}
		if again, err := outer.reenter(ctx, key, wanted); again != nil || err != nil {
			return again, err
		}
	}
	return nil, nil
}

// reenter returns the result of a call for wanted under a context that carries l, a hold on one
// of its keys: an error if the call did not ask for reentrancy, else a further handle. Both are nil
// if the hold has ended meanwhile; wanted is then as it was.
func (l *Lock) reenter(ctx context.Context, key string, wanted *Lock) (*Lock, error) {
	began := l.c.tracer.stopwatch()
	again := wanted.sibling()
	longer, refusal := again.handle.Join(&l.handle, again.opts.reenter)
	if refusal == hold.Over {
		return nil, nil
	}
	if refusal != hold.NotRefused {
		return nil, refusalError(refusal, key)
	}
	leaves := again.handle.Leave
	defer func() {
		if leaves != nil { // a trace has panicked
			leaves()
		}
	}()
	var err error
	if longer {
		err = again.Extend(ctx)
	}
	if err != nil {
		leaves()
		leaves, again = nil, nil
	}
	if errors.Is(err, ErrLost) {
		return nil, nil
	}
	call := l.c.tracer.begin(ctx, wire.OpLock, wanted, nil, false)
	l.c.tracer.wait(call, wire.OpLock, wanted.Key(), again, 0, sinceStart(began), err)
	leaves = nil
	return again, err
}

// heldBySelf reports whether, on any master, this client itself took the lock in the way.
func heldBySelf(q *QuorumError) bool {
	for n := range q.NodeErrors() {
		if h, ok := n.Err.(*Holder); ok && h.Own { //nolint:errorlint // it is never wrapped
			return true
		}
	}
	return false
}

// refusalError says why a call under a context that holds key may not share the hold.
func refusalError(why hold.Refusal, key string) error {
	switch why {
	case hold.Upgrade:
		return &upgradeError{key}
	case hold.Unfenced:
		return &unfencedError{key}
	default:
		return &reentrantError{key}
	}
}

// A reentrantError is ErrReentrant for a key.
type reentrantError struct{ key string }

func (e *reentrantError) Error() string {
	return fmt.Sprintf("redlock: lock %q: %v", e.key, ErrReentrant)
}

func (e *reentrantError) Unwrap() error { return ErrReentrant }

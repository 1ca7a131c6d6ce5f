package redlock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redquorum/redquorum/internal/wire"
)

// WithReentrancy lets a call lock what its context already holds. Without it
// that is refused with ErrReentrant. With it the call returns a further handle
// on the same hold, and asks no master; only where it wants a longer TTL than
// the hold has, the hold is extended to that, and renewed with it from then on.
// Whether and how the hold is renewed stays as the call that acquired it said.
//
// The key is released by the Unlock of the last handle, whichever that is. A
// handle's context ends with the handle, and with the loss of the hold.
//
// The context is what lets a call in (see [Lock.Context], [Lock.WithContext],
// [Client.Do]), as Go knows no identity of goroutines: a context that is handed
// to other goroutines lets them in as well, at the same time. It lets nobody in
// once its handle is unlocked or the hold is lost; the call then makes an
// attempt of its own, as it does under a context of another client.
func WithReentrancy() LockOption {
	return lockOption(func(o *lockOptions) error {
		o.reenter = true
		return nil
	})
}

// A sharing is the set of handles on one hold that have not been unlocked, that
// of the hold itself included. It is made with the second handle, and guarded
// by the hold's mutex.
type sharing struct {
	handles map[*Lock]struct{}
}

// end ends the contexts of all handles.
func (s *sharing) end(cause error) {
	if s == nil {
		return
	}
	for l := range s.handles {
		if l.ctx != nil {
			l.ctx.cancel(cause)
		}
	}
}

// hold is what l is a handle on: itself, or what it shares.
func (l *Lock) hold() *Lock {
	if l.outer != nil {
		return l.outer
	}
	return l
}

// holdRemaining is Remaining of the hold l, whichever handles are left.
func (l *Lock) holdRemaining() time.Duration {
	now := l.c.opts.clock.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.remaining(now)
}

// unusableBy says why a handle on the hold l does not hold it, or nil. The caller
// must hold l.mu.
func (l *Lock) unusableBy(handle *Lock, op string) error {
	if handle.returned {
		return &notHeldError{op, handle.key, ErrUnlocked}
	}
	return l.unusable(op)
}

// leave ends a handle on the hold l, and reports whether none is left: then the
// caller, who must hold l.mu, ends the hold.
func (l *Lock) leave(handle *Lock) (last bool) {
	if l.shared == nil {
		return true
	}
	if l.state == held {
		handle.returned = true // after a loss it stays lost
	}
	delete(l.shared.handles, handle)
	if handle.ctx != nil {
		handle.ctx.cancel(ErrUnlocked)
	}
	return len(l.shared.handles) == 0
}

// sharedError says that others share the hold, or nil. The caller must hold
// l.mu.
func (l *Lock) sharedError(op string) error {
	if l.shared == nil || len(l.shared.handles) < 2 {
		return nil
	}
	return &sharedHoldError{op, l.key, len(l.shared.handles) - 1}
}

// A sharedHoldError refuses what would take the hold from other handles.
type sharedHoldError struct {
	op, key string
	others  int
}

func (e *sharedHoldError) Error() string {
	return fmt.Sprintf("redlock: %s %q: other handles that share the hold: %d: want them unlocked first", e.op, e.key, e.others)
}

func (e *sharedHoldError) Unwrap() error { return ErrReentrant }

// reenter answers a call for what template describes under a context that
// carries outer, of one of its keys: with an error if it did not ask for
// reentrancy, else with a further handle. Both are nil when the hold has ended meanwhile; template is
// then as it was.
func (c *Client) reenter(ctx context.Context, outer *Lock, key string, template *Lock) (*Lock, error) {
	began := c.stopwatch()
	l := template.again()
	h := outer.hold()
	longer, err := h.admit(outer, key, l)
	if errors.Is(err, ErrNotHeld) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if longer {
		err = l.Extend(ctx)
	}
	if err != nil {
		h.dismiss(l)
		if errors.Is(err, ErrLost) {
			return nil, nil
		}
		l = nil
	}
	call := c.traceBegin(ctx, wire.OpLock, template, false)
	c.traceWait(call, wire.OpLock, template, l, 0, sinceStart(began), err)
	return l, err
}

// admit makes handle one on the hold l. The error matches ErrNotHeld if outer, the
// handle that would let it in, has ended, and ErrReentrant if it may not be let
// in. It reports whether the hold has to be extended for it.
func (l *Lock) admit(outer *Lock, key string, handle *Lock) (longer bool, err error) {
	now := l.c.opts.clock.Now()
	l.mu.Lock()
	lostNow := l.expire(now)
	if err = l.unusableBy(outer, wire.OpLock.String()); err == nil {
		err = l.refuseAgain(key, handle)
	}
	if err == nil {
		if l.shared == nil {
			l.shared = &sharing{handles: map[*Lock]struct{}{l: {}}}
		}
		handle.outer, handle.claim.Token, handle.acquired = l, l.claim.Token, now
		l.shared.handles[handle] = struct{}{}
		if longer = handle.claim.TTL > l.claim.TTL; longer {
			// Not taken back if the extension fails: it may have reached some
			// masters, and a renewal with the longer TTL does no harm.
			l.claim.TTL = handle.claim.TTL
		}
	}
	l.mu.Unlock()
	if lostNow {
		l.afterLoss()
	}
	return longer, err
}

// refuseAgain is why handle cannot be one more on the hold l of key, or nil. Another
// sort of lock on the key, or other keys, is not what is held. The caller must
// hold l.mu.
func (l *Lock) refuseAgain(key string, handle *Lock) error {
	switch {
	case l.claim.Kind == wire.Reader && handle.claim.Kind == wire.Plain:
		return &upgradeError{key}
	case handle.claim.Fenced && !l.claim.Fenced:
		return &unfencedError{key}
	case !handle.opts.reenter || l.claim.Kind != handle.claim.Kind || l.key != handle.key || !slices.Equal(l.others, handle.others):
		return &reentrantError{key}
	}
	return nil
}

// dismiss undoes admit. All others may have left meanwhile: then nobody waits
// for the release.
func (l *Lock) dismiss(handle *Lock) {
	l.mu.Lock()
	last := l.leave(handle)
	ended := last && l.state == held
	if last {
		if ended {
			l.state = unlocked
		}
		l.sendRelease(true)
	}
	l.mu.Unlock()
	if last {
		l.c.keeper.remove(l)
	}
	if ended {
		l.traceReleased(EndUnlocked, nil, l.c.opts.clock.Now())
	}
}

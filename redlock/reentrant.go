package redlock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
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

// holdRemaining is Remaining of the hold h, whichever handles are left.
func (h *Lock) holdRemaining() time.Duration {
	now := h.c.opts.clock.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.remaining(now)
}

// unusableBy says why handle l does not hold h, or nil. The caller must hold
// h.mu.
func (h *Lock) unusableBy(l *Lock, op string) error {
	if l.returned {
		return &notHeldError{op, l.key, ErrUnlocked}
	}
	return h.unusable(op)
}

// leave ends handle l, and reports whether none is left: then the caller, who
// must hold h.mu, ends the hold.
func (h *Lock) leave(l *Lock) (last bool) {
	if h.shared == nil {
		return true
	}
	if h.state == held {
		l.returned = true // after a loss it stays lost
	}
	delete(h.shared.handles, l)
	if l.ctx != nil {
		l.ctx.cancel(ErrUnlocked)
	}
	return len(h.shared.handles) == 0
}

// sharedError says that others share the hold, or nil. The caller must hold
// h.mu.
func (h *Lock) sharedError(op string) error {
	if h.shared == nil || len(h.shared.handles) < 2 {
		return nil
	}
	return &sharedHoldError{op, h.key, len(h.shared.handles) - 1}
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

// reenter answers a call for l under a context that carries outer: with an
// error if it did not ask for reentrancy, else with a further handle. Both are
// nil when the hold has ended meanwhile.
func (c *Client) reenter(ctx context.Context, outer, l *Lock, began time.Time) (*Lock, error) {
	h := outer.hold()
	// Another sort of lock on the key, or more keys, is not what is held.
	if !l.opts.reenter || l.kind != h.kind || !slices.Equal(l.others, h.others) {
		return nil, &reentrantError{l.key}
	}
	longer, ok := h.admit(outer, l)
	if !ok {
		return nil, nil
	}
	var err error
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
	if t := c.opts.trace; t != nil && t.Wait != nil {
		t.Wait(WaitInfo{Key: h.key, Waited: time.Since(began), Err: err})
	}
	return l, err
}

// admit makes l a handle on h, unless the handle that lets it in has ended. It
// reports whether the hold has to be extended for l.
func (h *Lock) admit(outer, l *Lock) (longer, ok bool) {
	now := h.c.opts.clock.Now()
	h.mu.Lock()
	lostNow := h.expire(now)
	ok = h.unusableBy(outer, opLock.String()) == nil
	if ok {
		if h.shared == nil {
			h.shared = &sharing{handles: map[*Lock]struct{}{h: {}}}
		}
		l.outer, l.token, l.acquired = h, h.token, now
		h.shared.handles[l] = struct{}{}
		if longer = l.opts.ttl > h.opts.ttl; longer {
			// Not taken back if the extension fails: it may have reached some
			// masters, and a renewal with the longer TTL does no harm.
			h.opts.ttl, h.ttlArg = l.opts.ttl, l.ttlArg
		}
	}
	h.mu.Unlock()
	if lostNow {
		h.afterLoss()
	}
	return longer, ok
}

// dismiss undoes admit. All others may have left meanwhile: then nobody waits
// for the release.
func (h *Lock) dismiss(l *Lock) {
	h.mu.Lock()
	last := h.leave(l)
	if last {
		if h.state == held {
			h.state = unlocked
		}
		h.sendRelease()
	}
	h.mu.Unlock()
	if last {
		h.c.keeper.remove(h)
	}
}

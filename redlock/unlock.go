package redlock

import (
	"context"

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
	released, p := l.handle.Release(ctx, began)
	err := l.problemError(wire.OpRelease.String(), p)
	l.traceUnlock(ctx, began, &released, err)
	return err
}

package redlock

import (
	"context"

	"github.com/redquorum/redquorum/internal/wire"
)

// Unlock ends the hold: its context ends, nothing renews it any more, and the key is
// deleted on every master where it is ours. The release is always sent, also when
// ctx is already over. ctx and the masters' timeout only bound the waiting for a
// quorum to confirm.
//
// The result is nil when a quorum confirmed. It matches ErrNotHeld and ErrUnlocked
// when the lock was unlocked before, ErrNotHeld and ErrLost when it had been lost by
// now, and ErrNoQuorum when too few masters answered. Those that did not answer get
// the release when they can be reached again, or else the key expires by itself.
//
// Where several handles share a hold (see [WithReentrancy]), the Unlock of the last
// one releases it. Each Unlock before that ends its handle, asks no master and
// returns nil.
func (l *Lock) Unlock(ctx context.Context) error {
	began := l.c.opts.clock.Now()
	released, p := l.handle.Release(ctx, began)
	err := l.problemError(wire.OpRelease.String(), p)
	l.traceUnlock(ctx, began, &released, err)
	return err
}

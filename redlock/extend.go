package redlock

import (
	"context"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/hold"
	"github.com/redquorum/redquorum/internal/wire"
)

// Extend prolongs the hold to a full TTL from now. It succeeds only if a quorum
// still held the lock when it was asked. Masters that had lost the key get it again,
// and count from the next extension on (S6). It waits for ctx, the masters' timeout
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

// Downgrade turns the writer's hold of a key into a reader's, and lets no other
// writer in between. Other readers may join from then on. It keeps the token and the
// handle, and prolongs the hold to a full TTL as Extend does. Any plain lock may be
// downgraded, also one of Client.Lock. Where the hold is a reader's already, it is
// only prolonged.
//
// The handle is a reader's from the first byte that is sent, whatever the result. So
// with ErrNoQuorum the lock is still held for what is Remaining, but for reading:
// masters that were not reached keep other readers out until a renewal, or another
// call, turns their keys as well. Other errors and the waiting are those of Extend.
//
// Why that is sound: a master turns the string with our token into a reader's entry
// in one step, so it always has one of the two. Until then it has our string, which
// keeps out more than our entry would. A quorum of masters that have the one or the
// other keeps every writer out. A command that was sent for the writer before may
// arrive late, such as an extension. It finds our string (and prolongs it, in order
// before the turn), a set of readers (and leaves it alone) or nothing (and sets the
// string, which the next extension turns, and Unlock deletes). There is no way back:
// no reader becomes a writer.
func (l *Lock) Downgrade(ctx context.Context) error {
	return l.ask(ctx, wire.OpDowngrade, (*hold.Handle).Downgrade)
}

// ask puts a question of the holder's to the masters, and tells of its answer.
func (l *Lock) ask(ctx context.Context, op wire.Op, question func(*hold.Handle, context.Context, drift.Instant) (bool, *hold.Problem)) error {
	began := l.c.opts.clock.Now()
	asked, p := question(&l.handle, ctx, began)
	err := l.problemError(op.String(), p)
	if asked {
		l.traceExtend(ctx, op, began, err)
	}
	return err
}

package redlock

import (
	"context"
	"fmt"

	"github.com/redquorum/redquorum/internal/wire"
)

// Downgrade turns the writer's hold of a key into a reader's, without letting
// another writer in between: other readers may join from then on. It keeps the
// token and the handle, and prolongs the hold to a full TTL as Extend does. Any
// plain lock may be downgraded, also one of Client.Lock; where it is a reader's
// already, nothing but the prolongation happens.
//
// The handle is a reader's from the first byte that is sent, whatever comes of
// it. So with ErrNoQuorum the lock is still held for what is Remaining, but for
// reading: masters that were not reached keep other readers out until a renewal,
// or another call, turns what they have as well. Other errors and the waiting
// are those of Extend.
//
// Why that is sound: a master turns the string with our token into a reader's
// entry in one step, so it never is without either. Until then it has our
// string, which keeps out more than our entry would; a quorum of masters that
// have the one or the other keeps every writer out. And what was sent for the
// writer before, an extension that a master executes late, finds our string
// (and prolongs it, in order before the turn), a set of readers (and leaves it
// alone) or nothing (and sets the string, which the next extension turns, and
// Unlock deletes). The way back is closed: no reader becomes a writer.
func (l *Lock) Downgrade(ctx context.Context) error {
	return l.question(ctx, wire.OpDowngrade, func(h *Lock) (*wire.Ask, error) {
		if h.claim.Kind != wire.Plain && h.claim.Kind != wire.Reader {
			return nil, fmt.Errorf("redlock: %v %q: only the lock of one key can become a reader's", wire.OpDowngrade, l.key)
		}
		if err := h.sharedError(wire.OpDowngrade.String()); err != nil {
			return nil, err // the others believe to be writers
		}
		h.claim.BecomeReader() // under h.mu, so whatever is sent next is a reader's
		return h.startExtension(wire.OpDowngrade, false), nil
	})
}

// outdated reports whether a round asked for the writer that l was and is no
// more: a refusal says nothing about the reader then. The caller must hold l.mu.
func (l *Lock) outdated(r *wire.Ask) bool {
	return r.Generation() != l.claim.Generation
}

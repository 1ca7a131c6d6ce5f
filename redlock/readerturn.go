package redlock

import "context"

// A reader has no other reader to fear: when it is its turn it asks all masters
// together. When it is in it leaves the queue, and that passes the turn on: so
// those who wait follow each other in, until one of them is a writer, who finds
// readers in and keeps the first place.

func (w *contender) isReader() bool { return w.l.kind == readerKind }

// tryReader asks all masters together.
func (w *contender) tryReader(ctx context.Context) (*QuorumError, bool) {
	failed := w.asked(w.c.attempt(ctx, w.l, false))
	if w.collisions++; failed == nil {
		w.collisions = 0
	}
	return failed, true
}

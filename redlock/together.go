package redlock

import (
	"context"

	"github.com/redquorum/redquorum/internal/outcome"
	"github.com/redquorum/redquorum/internal/wire"
)

// maySkipPilot reports whether one who was woken need not ask the pilot first.
func (w *contender) maySkipPilot() bool {
	called := w.called
	w.called = false
	return called && w.collisions == 0 && w.l.claim.Kind.Queued && !w.c.wire.Scripted(&w.l.claim)
}

// tryTogether asks the pilot and the others at once.
func (w *contender) tryTogether(ctx context.Context) (*outcome.Failure, bool) {
	c, l := w.c, w.l
	c.unfinished.Add()
	defer c.unfinished.Done()
	bit := uint64(1) << w.pilot
	w.queued |= bit
	c.awaitVoters(ctx, l)
	l.begin()
	l.take = c.wire.NewPilotTake(&l.claim, w.pilot, wire.Place{Score: w.position(), OnlyFirst: l.opts.fair})
	failed := w.asked(c.fanOut(ctx, l, 0, false))
	said := l.take.Answer
	l.take = nil
	switch {
	case failed == nil:
		w.collisions = 0
		if said.Granted {
			w.queued &^= bit
		}
		return nil, true
	case said.Granted:
		w.collisions++
	case said.Answered:
		if failed.Cause == nil {
			w.last = failed // which the pilot may know the holder of
		}
		cause := w.note(&said.Turn, said.Err)
		switch {
		case failed.Cause != nil:
		case cause != nil:
			failed.Cause = cause
		default:
			failed = w.last
		}
	}
	return failed, true
}

package redlock

import (
	"context"
	"errors"

	"github.com/redquorum/redquorum/internal/outcome"
	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/script"
)

// A client that its pilot has called has the lock kept for it there, from those
// that queue up. So it need not ask the pilot before it asks the others: it asks
// all of them together, and saves a round trip while everybody waits. Of the
// others only one that does not know of the queue can take votes from it; then
// it asks the pilot first again.

// A pilotTake is the pilot's part in such an attempt: the command that takes the
// client out of the queue with the grant, and what the pilot said to it by the
// time the attempt was decided.
type pilotTake struct {
	pilot   int
	encoded []byte
	pilotAnswer
}

// A pilotAnswer is what a pilot says to take.
type pilotAnswer struct {
	answered bool // with a grant, a turn or an error
	granted  bool
	turn     turn // of a refusal
	err      error
}

// newPilotTake is for an attempt that has begun.
func (l *Lock) newPilotTake(pilot int, score any) *pilotTake {
	only := argAnybody
	if l.opts.fair {
		only = argOnlyFirst
	}
	keys := []any{l.claim.keys[0], queueKey(l.fullKey())}
	return &pilotTake{
		pilot:   pilot,
		encoded: pipeline.AppendCommand(nil, evalSHA, script.Queue.Args(nil, keys, argTake, l.c.id, score, l.claim.token, l.ttlArg(), only)...),
	}
}

// readTake reads what queue.lua says to take. What is no grant becomes what SET
// NX says.
func readTake(c *pipeline.Call) (pilotAnswer, any) {
	if c.Err == nil && c.Reply == any("OK") {
		return pilotAnswer{answered: true, granted: true}, c.Reply
	}
	if errors.Is(c.Err, pipeline.ErrAbandoned) || pipeline.IsNoScript(c.Err) {
		return pilotAnswer{}, c.Reply // decided without it: that says nothing of the pilot
	}
	t, err := readTurn(c.Reply, c.Err)
	if err != nil {
		return pilotAnswer{answered: true, err: err}, c.Reply
	}
	return pilotAnswer{answered: true, turn: t}, nil
}

// pilotSaid is what the pilot has said to take by now.
func (r *round) pilotSaid() pilotAnswer {
	r.Lock()
	defer r.Unlock()
	return r.said
}

// maySkipPilot reports whether one who was woken need not ask the pilot first.
func (w *contender) maySkipPilot() bool {
	called := w.called
	w.called = false
	return called && w.collisions == 0 && w.l.claim.kind.queued && !w.l.isGuarded()
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
	l.take = l.newPilotTake(w.pilot, w.position())
	failed := w.asked(c.fanOut(ctx, l, 0, false))
	said := l.take.pilotAnswer
	l.take = nil
	switch {
	case failed == nil:
		w.collisions = 0
		if said.granted {
			w.queued &^= bit
		}
		return nil, true
	case said.granted:
		w.collisions++
	case said.answered:
		if failed.Cause == nil {
			w.last = failed // which the pilot may know the holder of
		}
		cause := w.note(&said.turn, said.err)
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

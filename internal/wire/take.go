package wire

import (
	"context"
	"errors"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/outcome"
	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/script"
)

// A Place is where one who acquires at a pilot stands in its queue.
type Place struct {
	Score any // or NoPlace
	// OnlyFirst: the lock is granted only where nobody else is first.
	OnlyFirst bool
}

func (p *Place) only() any {
	if p.OnlyFirst {
		return argOnlyFirst
	}
	return argAnybody
}

// TakeAt asks the pilot alone for the lock, at start, and waits for the answer. If it is
// granted the caller asks the others; otherwise the pilot says whose turn it is, and
// Absent is set.
func (w *Wire) TakeAt(ctx context.Context, c *Claim, pilot int, at Place, start drift.Instant, limit time.Duration) (granted bool, t Turn, err error) {
	if w.scripted(c) {
		granted, t, err = w.takeScripted(ctx, c, pilot, at, start, limit)
	} else {
		keys := []any{c.Keys[0], queueKey(c.Key())}
		q := w.queryVote(pilot, script.Queue, keys, argTake, w.cfg.ID, at.Score, c.Token, c.milliseconds(), at.only())
		var reply any
		if reply, err = q.vote(ctx, start, limit); err == nil && reply == any("OK") {
			return true, Turn{}, nil
		}
		t, err = readTurn(reply, err)
	}
	if granted {
		return true, Turn{}, nil
	}
	c.Absent = w.everyone
	if err != nil {
		c.Absent &^= 1 << pilot // whether it granted the lock is not known
	}
	return false, t, err
}

// takeScripted is the same by a script that knows fences and leases.
func (w *Wire) takeScripted(ctx context.Context, c *Claim, pilot int, at Place, start drift.Instant, limit time.Duration) (granted bool, t Turn, err error) {
	k := w.newClockCheck(c.TTL)
	floor := w.leastFence(c)
	args := w.scriptedArgs(c, &k, at.only(), w.scriptedNumbers(c, &k, floor, limit))
	keys := w.withSides(c, []any{c.Keys[0], queueKey(c.Key())})
	q := w.queryVote(pilot, script.GuardedQueue, keys, append([]any{argTake, w.cfg.ID, at.Score}, args[:]...)...)
	reply, err := q.vote(ctx, start, limit)
	if err != nil {
		return false, Turn{}, err
	}
	found, ok, err := w.readScriptedReply(&k, reply)
	switch {
	case err != nil:
		return false, Turn{}, err
	case ok && found.code == 1:
		c.Fence = found.fence
		w.Fences.See(found.fence, w.cfg.Clock.Now().Wall())
		return true, Turn{}, nil
	}
	t, err = readTurn(reply, nil)
	return false, t, err
}

// TakeSetAt asks a pilot alone for several keys together, at start. Where it does not
// grant them Absent is set, and the caller asks HolderAt what is in the way.
func (w *Wire) TakeSetAt(ctx context.Context, c *Claim, pilot int, start drift.Instant, limit time.Duration) (granted bool, err error) {
	reply, err := w.queryVote(pilot, c.Kind.acquire, c.Keys, c.Token, c.milliseconds()).vote(ctx, start, limit)
	c.Absent = w.everyone
	switch {
	case err == nil && reply == any(int64(1)):
		c.Absent = 0
		return true, nil
	case err != nil:
		c.Absent &^= 1 << pilot // whether it granted them is not known
	case reply != any(int64(0)):
		c.Absent &^= 1 << pilot
		err = unexpected(reply)
	}
	return false, err
}

// HolderAt asks one master which of several keys is in the way, and who holds it.
func (w *Wire) HolderAt(ctx context.Context, c *Claim, master int, limit time.Duration) (*outcome.Held, error) {
	reply, err := w.query(master, time.Time{}, script.HolderAmong, c.Keys, c.Kind.inTheWay).wait(ctx, limit)
	if err != nil {
		return nil, err
	}
	h, ok := readHolder(reply)
	if !ok {
		return nil, unexpected(reply)
	}
	return h, nil
}

// A client that its pilot has called has the lock kept for it there, from those that
// queue up. So it need not ask the pilot before it asks the others: it asks all of them
// together, and saves a round trip while everybody waits. Of the others only one that
// does not know of the queue can take votes from it; then it asks the pilot first again.

// A PilotTake is the pilot's part in such an attempt: the command that takes the client
// out of the queue with the grant.
type PilotTake struct {
	Pilot int
	// Answer is what it has said by the time the attempt was decided. The caller sets it.
	Answer PilotAnswer

	encoded []byte
}

// A PilotAnswer is what a pilot says to a PilotTake.
type PilotAnswer struct {
	Answered bool // with a grant, a turn or an error
	Granted  bool
	Turn     Turn // of a refusal
	Err      error
}

// NewPilotTake is for an attempt whose claim has its token.
func (w *Wire) NewPilotTake(c *Claim, pilot int, at Place) *PilotTake {
	keys := []any{c.Keys[0], queueKey(c.Key())}
	args := script.Queue.Args(nil, keys, argTake, w.cfg.ID, at.Score, c.Token, c.milliseconds(), at.only())
	return &PilotTake{Pilot: pilot, encoded: pipeline.AppendCommand(nil, evalSHA, args...)}
}

// readTakeTogether reads what the pilot says to it. What is no grant becomes what SET NX
// says.
func readTakeTogether(c *pipeline.Call) (PilotAnswer, any) {
	if c.Err == nil && c.Reply == any("OK") {
		return PilotAnswer{Answered: true, Granted: true}, c.Reply
	}
	if errors.Is(c.Err, pipeline.ErrAbandoned) || pipeline.IsNoScript(c.Err) {
		return PilotAnswer{}, c.Reply // decided without it: that says nothing of the pilot
	}
	t, err := readTurn(c.Reply, c.Err)
	if err != nil {
		return PilotAnswer{Answered: true, Err: err}, c.Reply
	}
	return PilotAnswer{Answered: true, Turn: t}, nil
}

// PilotSaid is what the pilot has said by now.
func (a *Ask) PilotSaid() PilotAnswer {
	a.Lock()
	defer a.Unlock()
	return a.atPilot.answer
}

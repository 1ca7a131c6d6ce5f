package wire

import (
	"context"
	"errors"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/ballot"
	"github.com/redquorum/redquorum/internal/outcome"
	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/script"
)

// A Place is a client's place in a pilot's queue, from which it acquires.
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

// TakeAt asks the pilot alone for the lock, at start, and waits for the answer. If the lock is
// granted, the caller asks the others. If not, the pilot says whose turn it is, and Absent is
// set.
func (w *Wire) TakeAt(ctx context.Context, c *Claim, pilot int, at Place, start drift.Instant, limit time.Duration) (granted bool, t Turn, err error) {
	if w.scripted(c) {
		granted, t, err = w.takeScripted(ctx, c, pilot, at, start, limit)
	} else {
		q := w.queryVote(pilot, c, script.Queue, c.withQueue(), argTake, w.cfg.ID, at.Score, c.Token, c.milliseconds(), at.only())
		var reply any
		if reply, err = q.vote(ctx, start, limit); err == nil && reply == any("OK") {
			return true, Turn{}, nil
		}
		t, err = readTurn(reply, err)
	}
	if granted {
		return true, Turn{}, nil
	}
	c.Absent = w.absentAfter(pilot, err)
	return false, t, err
}

// absentAfter is Claim.Absent after a pilot has granted nothing. Where err is not nil, whether
// it has may not be known.
func (w *Wire) absentAfter(pilot int, err error) quorum.Bits {
	absent := w.everyone
	if err != nil && !pipeline.WroteNothing(err) {
		absent.Remove(pilot)
	}
	return absent
}

// takeScripted is the same by a script that knows fences and leases.
func (w *Wire) takeScripted(ctx context.Context, c *Claim, pilot int, at Place, start drift.Instant, limit time.Duration) (granted bool, t Turn, err error) {
	k := w.newClockCheck(c.TTL)
	floor := w.leastFence(c)
	args := w.scriptedArgs(c, &k, at.only(), w.scriptedNumbers(c, &k, floor, limit))
	keys := w.withSides(c, c.withQueue())
	q := w.queryVote(pilot, c, script.GuardedQueue, keys, append([]any{argTake, w.cfg.ID, at.Score}, args[:]...)...)
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
		return true, Turn{}, nil
	}
	t, err = readTurn(reply, nil)
	return false, t, err
}

// TakeSetAt asks a pilot alone for several keys together, at start. If it does not grant them,
// Absent is set, and the caller asks HolderAt which key is in the way. If a lease record is in
// the way, leased says so: the lock of its holder is gone.
func (w *Wire) TakeSetAt(ctx context.Context, c *Claim, pilot int, start drift.Instant, limit time.Duration) (granted bool, leased *outcome.Held, err error) {
	if w.scripted(c) {
		granted, leased, err = w.takeSetScripted(ctx, c, pilot, start, limit)
	} else {
		var reply any
		reply, err = w.queryVote(pilot, c, c.Kind.acquire, c.Keys, c.Token, c.milliseconds()).vote(ctx, start, limit)
		granted = err == nil && reply == any(int64(1))
		if err == nil && !granted && reply != any(int64(0)) {
			err = unexpected(reply)
		}
	}
	if granted {
		return true, nil, nil
	}
	c.Absent = w.absentAfter(pilot, err)
	return false, leased, err
}

// takeSetScripted is the same by a script that knows fences and leases.
func (w *Wire) takeSetScripted(ctx context.Context, c *Claim, pilot int, start drift.Instant, limit time.Duration) (granted bool, leased *outcome.Held, err error) {
	k := w.newClockCheck(c.TTL)
	args := w.scriptedArgs(c, &k, argUnused, w.scriptedNumbers(c, &k, w.leastFence(c), limit))
	reply, err := w.queryVote(pilot, c, c.Kind.scripted.acquire, w.allKeys(c), args[:]...).vote(ctx, start, limit)
	if err != nil {
		return false, nil, err
	}
	found, ok, err := w.readScriptedReply(&k, reply)
	switch {
	case err != nil:
		return false, nil, err
	case !ok || found.slot != 0:
		return false, nil, unexpected(reply)
	case found.code == 1:
		c.Fence = found.fence
		return true, nil, nil
	case found.code == 0, found.code == codeLeased:
		return false, found.held, nil
	default:
		return false, nil, unexpected(reply)
	}
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

// When a pilot has called a client, it keeps the lock for it: no other client of the queue
// gets it there. So the client need not ask the pilot before the others. It asks all masters
// at once and saves a round trip. Only a client that does not use the queue can take votes
// from it; then it asks the pilot first again.

// A PilotTake is the pilot's part in such an attempt: a command of its own, which grants the
// lock and takes the client out of the queue.
type PilotTake struct {
	Pilot int
	At    Place
	// Answer is what the pilot had said when the attempt was decided. The caller sets it.
	Answer PilotAnswer

	script  *script.Script
	encoded []byte
}

// A PilotAnswer is what a pilot says to a PilotTake.
type PilotAnswer struct {
	Answered bool // with a grant, a turn or an error
	Granted  bool
	Turn     Turn // of a refusal
	Err      error
}

// encode makes the command, of queue.lua or of guarded.lua with queue.lua. args are their
// arguments from the token on.
func (t *PilotTake) encode(w *Wire, s *script.Script, keys []string, args ...any) {
	args = append([]any{argTake, w.cfg.ID, t.At.Score}, args...)
	t.script, t.encoded = s, pipeline.AppendCommand(nil, evalSHA, s.Args(nil, keys, args...)...)
}

// readTake reads the pilot's reply: a grant, as the other masters reply, or a turn, which is
// a refusal.
func (a *Ask) readTake(f *fact, c *pipeline.Call) ballot.Answer {
	said := &a.atPilot.answer
	switch {
	case errors.Is(c.Err, pipeline.ErrAbandoned), pipeline.IsNoScript(c.Err):
		return ballot.Answer{Verdict: ballot.Failed, Err: c.Err} // decided without the pilot: this says nothing about it
	case c.Err != nil:
		*said = PilotAnswer{Answered: true, Err: c.Err}
		return ballot.Answer{Verdict: ballot.Failed, Err: c.Err}
	}
	if t, err := readTurn(c.Reply, nil); err == nil {
		*said = PilotAnswer{Answered: true, Turn: t}
		return refusal(f, &heldUnknown)
	}
	answer := a.read(a, f, c.Reply)
	if answer.Verdict == ballot.Agreed {
		*said = PilotAnswer{Answered: true, Granted: true}
		return answer
	}
	*f = fact{}
	if answer.Err == nil {
		answer.Err = unexpected(c.Reply)
	}
	*said = PilotAnswer{Answered: true, Err: answer.Err}
	return ballot.Answer{Verdict: ballot.Failed, Err: answer.Err}
}

// PilotSaid is what the pilot has said until now.
func (a *Ask) PilotSaid() PilotAnswer {
	a.Lock()
	defer a.Unlock()
	return a.atPilot.answer
}

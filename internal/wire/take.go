package wire

import (
	"context"
	"errors"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/ballot"
	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/script"
)

// A Place is a client's place in a pilot's queue, from which it acquires.
type Place struct {
	Score any // or NoPlace
	// OnlyFirst: the pilot grants the lock only if nobody else is first.
	OnlyFirst bool
}

func (p *Place) only() any {
	if p.OnlyFirst {
		return argOnlyFirst
	}
	return argAnybody
}

// TakeAt asks only the pilot for the lock, at start, and waits for the answer. If the lock is
// granted, the caller asks the other masters. If not, c.Absent is set, and for one key t says
// whose turn it is. For several keys together t.Held is set only if a lease record prevents
// the grant after its holder's lock is gone; else the caller asks HolderAt which key is held.
func (w *Wire) TakeAt(
	ctx context.Context, c *Claim, pilot int, at Place, start drift.Instant, limit time.Duration,
) (granted bool, t Turn, err error) {
	k := w.newClockCheck(c.TTL)
	s, keys, args := w.takeCommand(c, &k, at, limit)
	reply, err := w.queryVote(pilot, c, s, keys, args...).vote(ctx, start, limit)
	if err == nil {
		granted, t, err = w.readTaken(c, &k, reply)
	}
	if !granted {
		c.Absent = w.absentAfter(pilot, err)
	}
	return granted, t, err
}

// takeCommand returns the command with which a pilot grants the lock, or says whose turn it
// is. Several keys together have no turns: the pilot gets the same command as all masters.
func (w *Wire) takeCommand(
	c *Claim, k *clockCheck, at Place, limit time.Duration,
) (s *script.Script, keys []string, args []any) {
	if !w.scripted(c) {
		if c.Kind == Set {
			return Set.acquire, c.Keys, []any{c.Token, c.milliseconds()}
		}
		return script.Queue, c.withQueue(), w.takeArgs(at, c.Token, c.milliseconds(), at.only())
	}
	n := w.scriptedNumbers(c, k, w.leastFence(), limit)
	if c.Kind == Set {
		set := w.scriptedArgs(c, k, argUnused, n)
		return Set.scripted.acquire, w.allKeys(c), set[:]
	}
	one := w.scriptedArgs(c, k, at.only(), n)
	return script.GuardedQueue, w.withSides(c, c.withQueue()), w.takeArgs(at, one[:]...)
}

// takeArgs returns the arguments of queue.lua, or of guarded.lua with queue.lua. args are those
// from the token on.
func (w *Wire) takeArgs(at Place, args ...any) []any {
	return append([]any{argTake, w.cfg.ID, at.Score}, args...)
}

func (w *Wire) readTaken(c *Claim, k *clockCheck, reply any) (granted bool, t Turn, err error) {
	yes, no := reply == any("OK"), false
	switch {
	case w.scripted(c):
		found, ok, err := w.readScriptedReply(k, reply)
		if err != nil {
			return false, Turn{}, err
		}
		yes, no = ok && found.code == 1, ok && (found.code == 0 || found.code == codeLeased)
		t.Held = found.held
		if yes {
			c.Fence = found.fence
		}
	case c.Kind == Set:
		yes, no = reply == any(int64(1)), reply == any(int64(0))
	}
	switch {
	case yes:
		return true, Turn{}, nil
	case c.Kind != Set:
		t, err = readTurn(reply, nil)
		return false, t, err
	case no:
		return false, t, nil
	default:
		return false, Turn{}, unexpected(reply)
	}
}

// absentAfter returns Claim.Absent after TakeAt got no grant. After an error the pilot counts as
// absent only if it certainly wrote nothing.
func (w *Wire) absentAfter(pilot int, err error) quorum.MasterSet {
	absent := w.everyone
	if err != nil && !pipeline.WroteNothing(err) {
		absent.Remove(pilot)
	}
	return absent
}

// HolderAt asks one master which of several keys is held, and who holds it.
func (w *Wire) HolderAt(ctx context.Context, c *Claim, master int, limit time.Duration) (*quorum.Held, error) {
	reply, err := w.query(master, time.Time{}, script.HolderAmong, c.Keys).wait(ctx, limit)
	if err != nil {
		return nil, err
	}
	h, ok := readHolder(reply)
	if !ok {
		return nil, unexpected(reply)
	}
	return h, nil
}

// When a pilot has called a client, it keeps the lock for that client: no other client of the
// queue gets it there. So the client asks all masters at once and saves a round trip. Only a
// client that does not use the queue can take votes from it; then it asks the pilot first again.

// A PilotTake is the pilot's own command in such an attempt. It grants the lock and takes the
// client out of the queue.
type PilotTake struct {
	Pilot int
	At    Place
	// Answer is the pilot's answer as of when the attempt was decided. The caller sets it.
	Answer PilotAnswer

	script  *script.Script
	encoded []byte
}

// A PilotAnswer is a pilot's answer to a PilotTake.
type PilotAnswer struct {
	Answered bool // with a grant, a turn or an error
	Granted  bool
	Turn     Turn // if it refused
	Err      error
}

// encode makes the command, for queue.lua or for guarded.lua with queue.lua. args are its
// arguments from the token on.
func (t *PilotTake) encode(w *Wire, s *script.Script, keys []string, args ...any) {
	t.script, t.encoded = s, pipeline.AppendCommand(nil, evalSHA, s.Args(nil, keys, w.takeArgs(t.At, args...)...)...)
}

// readTake reads the pilot's reply: a grant, as the other masters reply, or a turn, which is
// a refusal.
func (a *Ask) readTake(f *fact, c *pipeline.Call) ballot.Answer {
	said := &a.atPilot.answer
	switch {
	case errors.Is(c.Err, pipeline.ErrAbandoned), pipeline.IsNoScript(c.Err):
		return ballot.Answer{Verdict: ballot.Failed, Err: c.Err} // the pilot was not needed, and has not answered
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

// PilotSaid returns the pilot's answer so far.
func (a *Ask) PilotSaid() PilotAnswer {
	a.Lock()
	defer a.Unlock()
	return a.atPilot.answer
}

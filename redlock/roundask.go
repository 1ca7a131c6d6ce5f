package redlock

import (
	"time"

	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/script"
)

// How a round asks the masters: most of them the same, some a command of their own.

const evalSHA = "EVALSHA"

// eval asks by a script.
func (r *round) eval(s *script.Script, keys []any, skip uint64, keep time.Time, args ...any) {
	r.script = s
	r.args = s.Args(r.args[:0], keys, args...)
	r.ask(evalSHA, skip, keep)
}

// ask queues the command with r.args for every master, but for those that skip
// names: they are known not to have the key. keep is until when the call is
// worth repeating on a later connection; zero: never.
func (r *round) ask(cmd string, skip uint64, keep time.Time) {
	r.command.Encoded = pipeline.AppendCommand(r.command.Encoded[:0], cmd, r.args...)
	r.send(cmd, skip, keep)
}

// send is ask for a command that has been encoded, once for all masters.
func (r *round) send(cmd string, skip uint64, keep time.Time) {
	r.asking()
	r.c.unfinished.add()
	var check []byte
	var spared uint64
	if r.op.votes() {
		check, spared = r.c.guardian.asked(), r.c.guardian.withoutAsking()&^(skip|r.granted)
	}
	r.mu.Lock()
	r.left = 1 // ours, so that the round is not over before all calls are queued
	for i := range r.calls {
		switch {
		case skip&(1<<i) != 0:
			r.answers[i] = answer{verdict: refused, missing: true}
			r.tally.Refused++
		case r.granted&(1<<i) != 0:
			r.answers[i] = answer{verdict: agreed, fence: r.grantedFence}
			r.tally.OK++
		case spared&(1<<i) != 0:
			r.answers[i] = answer{verdict: failed, unsent: true, err: r.c.guardian.abstainsNow(i, r.start)}
			r.tally.Failed++
		default:
			r.left++
		}
	}
	r.due = r.left
	r.mu.Unlock()
	r.command.Cmd, r.command.Owner, r.command.Keep, r.command.Check = cmd, r, keep, check
	for i := range r.calls {
		if (skip|r.granted|spared)&(1<<i) != 0 {
			continue
		}
		c := &r.calls[i]
		c.Command = r.commandFor(i)
		r.c.masters[i].Enqueue(c)
	}
	r.mu.Lock()
	r.decide()
	r.unlock(1, 1)
}

// commandFor is what a master is asked: the same as the others, if there is nothing
// about it.
func (r *round) commandFor(i int) *pipeline.Command {
	switch {
	case i == r.pilot && r.take != nil:
		return r.command.With(evalSHA, r.take.encoded)
	case i == r.pilot:
		own := &r.own.command
		own.Cmd, own.Owner, own.Keep, own.Check, own.Key = evalSHA, r, r.command.Keep, r.command.Check, r.command.Key
		return own
	case r.each != nil:
		return r.command.With(r.command.Cmd, pipeline.AppendCommand(nil, r.command.Cmd, r.each[i]...))
	default:
		return &r.command
	}
}

// resend answers NOSCRIPT with the whole script, and another refusal of a joint
// command with the call alone. An extension or acquisition is sent again only while it is undecided or granted and its lock is held: after
// Unlock or the rollback has begun it would set the key again behind the
// release; so would one for several keys when the lock has settled on one.
func (r *round) resend(c *pipeline.Call) bool {
	if r.op != opRelease && r.abandoned.Load() {
		return false
	}
	if l := r.lock; l != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.state != held || r.op == opLock && r.script != l.acquireScript() {
			return false
		}
	}
	if !pipeline.IsNoScript(c.Err) { // refused together with others, not for want of the script
		c.Command = c.With(evalSHA, c.Encoded)
		r.c.masters[c.Slot].Resend(c)
		return true
	}
	s := r.script
	if c.Slot == r.pilot && !r.own.plain {
		s = script.Queue
	}
	c.Command = c.With("EVAL", pipeline.EvalOf(c.Encoded, s.Source))
	r.c.masters[c.Slot].Resend(c)
	return true
}

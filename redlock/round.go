package redlock

import (
	"time"

	"github.com/redquorum/redquorum/internal/ballot"
	"github.com/redquorum/redquorum/internal/outcome"
	"github.com/redquorum/redquorum/internal/pilot"
	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/script"
)

// A round is a ballot about a lock: what it asks, and what replies to that mean.
type round struct {
	ballot.Ballot
	c     *Client
	facts []fact // beside the ballot's answers, guarded by its lock

	op      operation
	pilot   int            // the master that gets a command of its own, see own and take; pilot.None: none
	guarded bool           // guard says what is made of the answers
	lock    *Lock          // whose acquisition or extension this is; nil otherwise
	script  *script.Script // nil: a plain command

	tells   []any // keys of which the release tells who waits next, at every master
	passing bool  // nobody held them

	take  *pilotTake // what the pilot gets instead of an acquisition
	own   handOver   // and of a release
	guard guardedRound
	args  []any

	agreedFence uint64 // what those gave that have agreed before
	infos       []NodeInfo
	ttl         time.Duration // that an extension asked for
	said        pilotAnswer   // to take; guarded by the ballot's lock
}

// A fact is what a master's reply says beside its verdict.
type fact struct {
	missing bool          // refused because the key was not there
	fence   uint64        // the highest token of its fence, of the lock that it agreed to
	held    *outcome.Held // refused because somebody else's was, as far as known
	seen    *MasterHold   // what an inspection found
}

// newRound takes a round from those that are free.
func (c *Client) newRound(op operation) *round {
	r, _ := c.rounds.Get().(*round)
	if r == nil {
		r = &round{
			c: c, pilot: pilot.None, facts: make([]fact, len(c.masters)),
			own: handOver{command: pipeline.Command{Encoded: make([]byte, 0, 256)}},
		}
		r.Init(&c.ballots, r)
		if t := c.opts.trace; t != nil && (t.Node != nil || t.Reply != nil) {
			r.Timed = true
		}
	}
	r.op = op
	r.Begin(op.rules())
	return r
}

// Free implements ballot.Question.
func (r *round) Free() {
	clear(r.facts)
	clear(r.args)
	r.script, r.args, r.lock, r.agreedFence = nil, r.args[:0], nil, 0
	if r.guarded {
		r.guarded, r.guard = false, guardedRound{}
	}
	if r.pilot != pilot.None {
		r.pilot = pilot.None
		r.own.clear()
		r.take, r.said = nil, pilotAnswer{}
	}
	r.tells, r.passing = nil, false
	r.c.rounds.Put(r)
}

// Read implements ballot.Question.
func (r *round) Read(c *pipeline.Call) ballot.Answer {
	f := &r.facts[c.Slot]
	*f = fact{}
	reply := c.Reply
	switch {
	case c.Slot == r.pilot && r.take != nil:
		r.said, reply = readTake(c)
		if c.Err != nil {
			return ballot.Answer{Verdict: ballot.Failed, Err: c.Err}
		}
	case c.Err != nil:
		return ballot.Answer{Verdict: ballot.Failed, Err: c.Err}
	case c.Slot == r.pilot:
		reply, _ = r.own.split(reply)
	case r.tells != nil:
		reply, _ = splitHeirs(reply)
	}
	return r.read(f, reply)
}

// Ended implements ballot.Question.
func (r *round) Ended(c *pipeline.Call) {
	told := nobody
	var heirs []any
	if c.Err == nil {
		if r.tells != nil {
			_, heirs = splitHeirs(c.Reply)
		} else {
			_, told = r.own.split(c.Reply)
		}
	}
	r.successor(c, told, heirs).tell()
}

// Resend implements ballot.Question: it answers NOSCRIPT with the whole script, and
// another refusal of a joint command with the call alone. An extension or
// acquisition is sent again only while it is undecided or granted and its lock is
// held: after Unlock or the rollback has begun it would set the key again behind the
// release; so would one for several keys when the lock has settled on one.
func (r *round) Resend(c *pipeline.Call) bool {
	if c.Slot == r.pilot && r.take == nil && !pipeline.IsNoScript(c.Err) && !c.Apart {
		if !r.own.refused(c) {
			return false
		}
		r.Ballot.Resend(c, r.Command.With(evalSHA, r.Command.Encoded))
		return true
	}
	if !pipeline.IsNoScript(c.Err) && !c.Apart || c.Cmd != evalSHA || r.op != opRelease && r.GivenUp() {
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
		r.Ballot.Resend(c, c.With(evalSHA, c.Encoded))
		return true
	}
	s := r.script
	if c.Slot == r.pilot && !r.own.plain {
		s = script.Queue
	}
	r.Ballot.Resend(c, c.With("EVAL", pipeline.EvalOf(c.Encoded, s.Source)))
	return true
}

const evalSHA = "EVALSHA"

// eval asks by a script.
func (r *round) eval(s *script.Script, keys []any, skip uint64, keep time.Time, args ...any) {
	r.script = s
	r.args = s.Args(r.args[:0], keys, args...)
	r.ask(evalSHA, skip, keep)
}

// ask queues the command with r.args for every master, but for those that skip
// names: they are known not to have the key.
func (r *round) ask(cmd string, skip uint64, keep time.Time) {
	r.Command.Encoded = pipeline.AppendCommand(r.Command.Encoded[:0], cmd, r.args...)
	r.send(cmd, skip, keep)
}

// send is ask for a command that has been encoded, once for all masters.
func (r *round) send(cmd string, skip uint64, keep time.Time) {
	for i := range r.facts {
		switch {
		case skip&(1<<i) != 0:
			r.facts[i].missing = true
		case r.Agreed&(1<<i) != 0:
			r.facts[i].fence = r.agreedFence
		}
	}
	switch {
	case r.take != nil:
		r.SetOwn(r.pilot, &pipeline.Command{Cmd: evalSHA, Encoded: r.take.encoded})
		r.Tell = 0
	case r.tells != nil:
		r.Tell = r.c.everyone()
	case r.pilot != pilot.None:
		r.own.command.Cmd = evalSHA
		r.SetOwn(r.pilot, &r.own.command)
		r.Tell = 1 << r.pilot
	}
	r.Send(cmd, skip, keep)
}

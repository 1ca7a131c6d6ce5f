package wire

import (
	"time"

	"github.com/redquorum/redquorum/internal/ballot"
	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/script"
)

const evalSHA = "EVALSHA"

// An Ask is one question about a claim to all masters: a round, its command, and how the
// replies are read. It is used again after Done.
type Ask struct {
	ballot.Round
	w     *Wire
	facts []fact // one for each of the round's answers, guarded by its lock

	op   Op
	read func(a *Ask, f *fact, reply any) ballot.Answer
	// TTL is the TTL that an extension asked for.
	TTL time.Duration

	hold   Hold           // the hold to acquire or extend; nil for other questions
	kind   *Kind          // of an acquisition
	script *script.Script // nil: a plain command
	args   []any
	clock  clockCheck // of scripted questions

	atPilot  pilotPart
	handOver []string // keys whose waiters a release calls at every master

	agreedFence uint64 // the token of the masters that had agreed before
}

// A pilotPart describes the key's pilot's own command, if it gets one.
type pilotPart struct {
	master  int            // its index; quorum.NoPilot: it gets the command of the others
	take    *PilotTake     // its part in an acquisition; nil: this is a release
	answer  PilotAnswer    // to take; guarded by the round's lock
	release releaseAtPilot // its part in a release
}

// A Hold is the hold that an acquisition or extension is for. After NOSCRIPT the command is
// sent again only while the hold lives.
type Hold interface {
	// SendIfHeld calls send if the hold has not ended. No release is sent while send runs.
	SendIfHeld(send func()) bool
}

// newAsk returns a free Ask from the pool, or a new one.
func (w *Wire) newAsk(op Op) *Ask {
	a, _ := w.asks.Get().(*Ask)
	if a == nil {
		a = &Ask{
			w: w, facts: make([]fact, len(w.cfg.Ballots.Masters)),
			atPilot: pilotPart{
				master:  quorum.NoPilot,
				release: releaseAtPilot{command: pipeline.Command{Encoded: make([]byte, 0, 256)}},
			},
		}
		a.Init(&w.cfg.Ballots, a)
	}
	a.op, a.read = op, readCode
	a.Begin(op.rules())
	return a
}

// Op returns what is asked for.
func (a *Ask) Op() Op { return a.op }

// Hold returns the hold to acquire or extend.
func (a *Ask) Hold() Hold { return a.hold }

// Free implements ballot.Question.
func (a *Ask) Free() {
	clear(a.facts)
	clear(a.args)
	a.script, a.args, a.hold, a.kind, a.agreedFence = nil, a.args[:0], nil, nil, 0
	if a.clock != (clockCheck{}) {
		a.clock = clockCheck{}
	}
	if a.atPilot.master != quorum.NoPilot {
		a.atPilot.master = quorum.NoPilot
		a.atPilot.release.clear()
		a.atPilot.take, a.atPilot.answer = nil, PilotAnswer{}
	}
	a.handOver = nil
	a.w.asks.Put(a)
}

// Read implements ballot.Question. Only the exact replies count: any other reply is a failure.
func (a *Ask) Read(c *pipeline.Call) ballot.Answer {
	f := &a.facts[c.Slot]
	*f = fact{}
	reply := c.Reply
	switch {
	case c.Slot == a.atPilot.master && a.atPilot.take != nil:
		return a.readTake(f, c)
	case c.Err != nil:
		return ballot.Answer{Verdict: ballot.Failed, Err: c.Err}
	case c.Slot == a.atPilot.master:
		reply, _ = a.atPilot.release.split(reply)
	case a.handOver != nil:
		reply, _ = splitSuccessors(reply)
	}
	answer := a.read(a, f, reply)
	if a.op == OpRelease && c.Again && answer.Verdict == ballot.Refused {
		*f, answer = fact{}, agreed // the first write, whose answer was lost, may have released it
	}
	if answer.Verdict == ballot.Pending {
		answer.Verdict = ballot.Failed
		if answer.Err == nil {
			answer.Err = unexpected(reply)
		}
	}
	return answer
}

// Ended implements ballot.Question: it reports which waiter a release has called.
func (a *Ask) Ended(c *pipeline.Call) {
	if a.handOver != nil {
		var successors []any
		if c.Err == nil {
			_, successors = splitSuccessors(c.Reply)
		}
		a.notifyEach(c.Slot, successors)
		return
	}
	to := Nobody
	if c.Err == nil {
		_, to = a.atPilot.release.split(c.Reply)
	}
	if c.Slot == a.atPilot.master && a.atPilot.take == nil {
		a.w.cfg.Successors.Released(a.atPilot.master, a.atPilot.release.key, to)
	}
}

// Resend implements ballot.Question. After NOSCRIPT it sends the whole script, and after
// another refusal of a batch it sends the call alone. An extension or acquisition is sent
// again only while it is undecided, or is granted and its lock is held. Once Unlock or a
// rollback has begun, it would set the key again behind the release.
func (a *Ask) Resend(c *pipeline.Call) bool {
	if c.Slot == a.atPilot.master && a.atPilot.take == nil && !pipeline.IsNoScript(c.Err) && !c.BatchRefused {
		if !a.atPilot.release.refused(a.w, c) {
			return false
		}
		a.Round.Resend(c, a.Command.With(evalSHA, a.Command.Encoded))
		return true
	}
	if !pipeline.IsNoScript(c.Err) && !c.BatchRefused || c.Cmd != evalSHA || a.op != OpRelease && a.GivenUp() {
		return false
	}
	if a.hold != nil {
		return a.hold.SendIfHeld(func() { a.resendScript(c) })
	}
	a.resendScript(c)
	return true
}

func (a *Ask) resendScript(c *pipeline.Call) {
	if !pipeline.IsNoScript(c.Err) { // its batch was refused, and no script was missing
		a.Round.Resend(c, c.With(evalSHA, c.Encoded))
		return
	}
	s := a.script
	switch at := &a.atPilot; {
	case c.Slot != at.master:
	case at.take != nil:
		s = at.take.script
	case !at.release.plain:
		s = script.Queue
	}
	a.Round.Resend(c, c.With("EVAL", pipeline.EvalOf(c.Encoded, s.Source)))
}

func (a *Ask) eval(s *script.Script, keys []string, skip quorum.MasterSet, keep time.Time, args ...any) {
	a.script = s
	a.args = s.Args(a.args[:0], keys, args...)
	a.ask(evalSHA, skip, keep)
}

// ask queues the command with a.args for every master that is not in skip. Masters in skip
// are known not to have the key.
func (a *Ask) ask(cmd string, skip quorum.MasterSet, keep time.Time) {
	a.Command.Encoded = pipeline.AppendCommand(a.Command.Encoded[:0], cmd, a.args...)
	a.send(cmd, skip, keep)
}

// send does the same with a command that is already encoded, once for all masters.
func (a *Ask) send(cmd string, skip quorum.MasterSet, keep time.Time) {
	for i := range a.facts {
		switch {
		case skip.Has(i):
			a.facts[i].missing = true
		case a.Agreed.Has(i):
			a.facts[i].fence = a.agreedFence
		}
	}
	switch {
	case a.atPilot.take != nil:
		a.SetOwn(a.atPilot.master, &pipeline.Command{Cmd: evalSHA, Encoded: a.atPilot.take.encoded})
	case a.handOver != nil:
		a.Notify = a.w.everyone
		for _, key := range a.handOver {
			if master := a.w.cfg.Pilots.Of(key, 0); master != quorum.NoPilot {
				a.SendLast.Add(master)
			}
		}
	case a.atPilot.master != quorum.NoPilot:
		a.atPilot.release.command.Cmd = evalSHA
		a.SetOwn(a.atPilot.master, &a.atPilot.release.command)
		a.Notify.Add(a.atPilot.master)
		a.SendLast = a.Notify
	}
	a.Send(cmd, skip, keep)
}

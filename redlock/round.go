package redlock

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/mutant"
	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/script"
)

// A round is one question to the masters: a call to each, their tally, and the
// decision. The pipelines complete the calls; whoever started the round is
// woken once when it is decided, and may look at it until release.
//
// Rounds are used again, but only when every call has come back and the
// starter has let go (invariant L4): a late reply never counts in another
// round.
type round struct {
	c     *Client
	op    operation
	lock  *Lock         // whose acquisition or extension this is; nil otherwise
	start drift.Instant // read before the first byte is sent (invariant S2)
	calls []pipeline.Call
	// The command of all calls; not changed until the round is used again.
	script  *script.Script // nil: a plain command
	args    []any
	encoded []byte
	granted uint64 // masters that have agreed before the round
	guard   guardedRound
	own     handOver   // what the pilot gets instead of a release
	take    *pilotTake // and of an acquisition
	key     uint64     // tells rounds about different keys apart; 0: about several
	joins   bool       // its calls may be made one command with others
	part    roundPart
	tells   []any // keys of which the release tells who waits next, at every master
	passing bool  // nobody held those keys

	grantedFence uint64 // what those gave

	asked   time.Time     // for the trace
	infos   []NodeInfo    // for the trace
	ttl     time.Duration // that an extension asked for
	renewal bool          // the keeper started it and is told of the decision
	wake    chan struct{} // otherwise: gets one value when the round is decided
	timer   *time.Timer   // of wait, runs tick
	ticked  chan struct{} // gets one value when the timer has run for good

	abandoned atomic.Bool // calls that are not sent yet need not be

	// mu guards what follows. Nothing blocks under it.
	mu       sync.Mutex
	answers  []answer
	said     pilotAnswer // to take
	tally    quorum.Tally
	outcome  quorum.Outcome
	votes    []int // for each of several keys; empty where it is all or nothing
	slot     int   // the key with most of them, counted from 1; 0: none
	expired  bool  // decided by a deadline
	cut      bool  // by Close
	deadline time.Time
	left     int  // calls that the pipelines still have, and one while they are being queued
	due      int  // the same without those that are delayed: what Close waits for
	inUse    bool // the starter may still look
}

// newRound takes a round from those that are free.
func (c *Client) newRound(op operation) *round {
	r, _ := c.rounds.Get().(*round)
	if r == nil {
		n := len(c.masters)
		r = &round{
			c:       c,
			calls:   make([]pipeline.Call, n),
			answers: make([]answer, n),
			wake:    make(chan struct{}, 1),
			ticked:  make(chan struct{}, 1),
			own:     handOver{pilot: noPilot, encoded: make([]byte, 0, 256)},
		}
	}
	r.op, r.inUse = op, true
	r.tally = quorum.Tally{Total: len(c.masters), Need: c.need}
	return r
}

// letGo ends the starter's interest in the round.
func (r *round) letGo() {
	r.mu.Lock()
	r.inUse = false
	r.unlock(0, 0)
}

// recycle is called exactly once a use, by whoever is last.
func (r *round) recycle() {
	select {
	case <-r.wake:
	default:
	}
	clear(r.answers)
	clear(r.args)
	r.script, r.args, r.encoded = nil, r.args[:0], r.encoded[:0]
	for i := range r.calls {
		r.calls[i].Reply, r.calls[i].Err = nil, nil
	}
	r.lock, r.renewal, r.start = nil, false, drift.Instant{}
	r.votes, r.slot = r.votes[:0], 0
	r.granted, r.grantedFence = 0, 0
	r.guard = guardedRound{}
	r.own.clear()
	r.key, r.joins = 0, false
	r.take, r.said = nil, pilotAnswer{}
	r.tells, r.passing = nil, false
	r.outcome, r.expired, r.cut = quorum.Open, false, false
	r.abandoned.Store(false)
	r.c.rounds.Put(r)
}

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
	r.encoded = pipeline.AppendCommand(r.encoded[:0], cmd, r.args...)
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
	for i := range r.calls {
		if (skip|r.granted|spared)&(1<<i) != 0 {
			continue
		}
		c := &r.calls[i]
		c.Cmd, c.Encoded, c.Owner, c.Slot, c.Keep, c.Check = cmd, r.encoded, r, i, keep, check
		c.Key, c.Part = r.key, nil
		if r.joins {
			c.Part = r.part.of(i == r.own.pilot)
		}
		switch {
		case i == r.own.pilot:
			c.Encoded = r.own.encoded
		case r.take != nil && i == r.take.pilot:
			c.Cmd, c.Encoded = evalSHA, r.take.encoded
		}
		if r.guard.each != nil {
			c.Encoded = pipeline.AppendCommand(nil, cmd, r.guard.each[i]...)
		}
		r.c.masters[i].Enqueue(c)
	}
	r.mu.Lock()
	r.decide()
	r.unlock(1, 1)
}

// unlock releases r.mu after left and due calls less are outstanding. If
// nobody needs the round any more it is free for its next use.
func (r *round) unlock(left, due int) {
	r.left -= left
	r.due -= due
	// Once it is free the round may serve another question at any moment.
	client, extended := r.c, r.lock
	finished := due != 0 && r.due == 0
	over := left != 0 && r.left == 0
	free := r.left == 0 && !r.inUse
	r.mu.Unlock()
	if free {
		r.recycle()
	}
	if finished {
		client.unfinished.done()
	}
	if over && extended != nil {
		extended.setting.done()
	}
}

// decide takes notice of the outcome, once. The caller must hold r.mu.
func (r *round) decide() {
	if r.outcome != quorum.Open {
		return
	}
	if r.op == opHolder || r.op == opInspect { // everybody's answer is wanted
		if r.tally.Outstanding() == 0 {
			r.settle(quorum.Granted)
		}
		return
	}
	if o := r.tally.Outcome(); o != quorum.Open {
		r.settle(o)
	}
}

// settle sets the outcome and tells the starter. The caller must hold r.mu.
func (r *round) settle(o quorum.Outcome) {
	r.outcome = o
	if o != quorum.Granted && r.op != opRelease {
		r.abandoned.Store(true)
	}
	if r.renewal {
		r.c.keeper.decided(r)
		return
	}
	r.wake <- struct{}{} // capacity 1, and settled once
}

// expire decides at a deadline: whoever has not answered has failed.
func (r *round) expire() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.outcome == quorum.Open {
		r.expired = true
		r.settle(r.tally.Close())
	}
}

// Abandoned implements pipeline.Owner.
func (r *round) Abandoned(*pipeline.Call) bool { return r.abandoned.Load() }

// Delayed implements pipeline.Owner: a failure so far, which a late answer
// may still turn into something better.
func (r *round) Delayed(c *pipeline.Call, cause error) {
	r.mu.Lock()
	a := &r.answers[c.Slot]
	if a.delayed {
		r.mu.Unlock()
		return
	}
	a.delayed = true
	if !r.expired {
		a.verdict, a.err = failed, cause
		r.tally.Failed++
		r.decide()
	}
	tell := r.successor(c, nobody, nil)
	r.unlock(0, 1)
	tell.tell()
}

// Complete implements pipeline.Owner.
func (r *round) Complete(c *pipeline.Call) {
	if (pipeline.IsNoScript(c.Err) || c.Apart) && c.Cmd == evalSHA && r.resend(c) {
		return
	}
	if mutant.Is(mutant.LateReplyCounts) {
		r.countInNext(c)
	}
	told := nobody
	abstains := r.abstains(c)
	if c.Slot == r.own.pilot {
		if r.own.refused(c) {
			c.Cmd, c.Encoded, c.Part = evalSHA, r.encoded, nil
			r.c.masters[c.Slot].Resend(c)
			return
		}
		c.Reply, told = r.own.split(c.Reply)
	}
	var said pilotAnswer
	if r.take != nil && c.Slot == r.take.pilot {
		said, c.Reply = readTake(c)
	}
	var heirs []any
	if r.tells != nil {
		c.Reply, heirs = splitHeirs(c.Reply)
	}
	r.mu.Lock()
	if said.answered {
		r.said = said
	}
	a := &r.answers[c.Slot]
	due := 1
	if a.delayed {
		due = 0 // Delayed has counted it
	}
	a.unsent = !c.Sent
	// Answers that come after an early decision cannot change it any more, but
	// they say more exactly why it fell as it did; after a deadline they have
	// been counted as failures.
	if !r.expired && !errors.Is(c.Err, pipeline.ErrAbandoned) {
		if a.delayed {
			r.tally.Failed--
		}
		*a = r.read(c)
		if abstains != nil && a.verdict != failed {
			*a = answer{unsent: a.unsent, verdict: failed, err: abstains}
		}
		a.late = r.outcome != quorum.Open
		a.took = r.sinceAsked()
		switch a.verdict {
		case agreed:
			r.vote(a.slot)
		case refused:
			r.tally.Refused++
		default:
			r.tally.Failed++
		}
		r.decide()
	}
	tell, reply := r.successor(c, told, heirs), r.replyOf(c, a)
	r.unlock(1, due)
	tell.tell()
	reply.send()
}

// abstains is why a reply counts for nothing: its master may not vote.
func (r *round) abstains(c *pipeline.Call) error {
	if c.Err != nil {
		r.c.guardian.sawError(c.Slot, c)
		return nil // it has failed anyway
	}
	if !r.op.votes() {
		return nil
	}
	why := r.c.guardian.abstains(c.Slot, c, r.start)
	if mutant.Is(mutant.QuarantinedCounts) && r.op == opExtend && why != nil && why.Cause == AbstainQuarantined {
		return nil
	}
	if why != nil {
		return why
	}
	return nil
}

const evalSHA = "EVALSHA"

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
	c.Part = nil
	if !pipeline.IsNoScript(c.Err) { // refused together with others, not for want of the script
		r.c.masters[c.Slot].Resend(c)
		return true
	}
	s := r.script
	if c.Slot == r.own.pilot && !r.own.plain || r.take != nil && c.Slot == r.take.pilot {
		s = script.Queue
	}
	c.Cmd, c.Encoded = "EVAL", pipeline.EvalOf(c.Encoded, s.Source)
	r.c.masters[c.Slot].Resend(c)
	return true
}

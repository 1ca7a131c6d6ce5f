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
//
// What is looked at when a call comes back stands first: with a thousand rounds
// under way nothing of one is in the cache of the processor that reads a reply.
type round struct {
	c       *Client
	answers []answer      // guarded by mu
	start   drift.Instant // read before the first byte is sent (invariant S2)

	// mu guards what follows, up to slot. Nothing blocks under it.
	mu      sync.Mutex
	tally   quorum.Tally
	outcome quorum.Outcome
	expired bool  // decided by a deadline
	inUse   bool  // the starter may still look
	left    uint8 // calls that the pipelines still have, and one while they are being queued
	due     uint8 // the same without those that are delayed: what Close waits for
	cut     bool  // by Close
	slot    int   // the one of several keys with most votes, counted from 1; 0: none

	// The command of all calls; not changed until the round is used again.
	command pipeline.Command

	pilot     int // the master that gets a command of its own, see own and take; noPilot: none
	op        operation
	renewal   bool           // the keeper started it and is told of the decision
	guarded   bool           // guard says what is made of the answers
	abandoned atomic.Bool    // calls that are not sent yet need not be
	lock      *Lock          // whose acquisition or extension this is; nil otherwise
	script    *script.Script // nil: a plain command

	tells   []any // keys of which the release tells who waits next, at every master
	passing bool  // nobody held them

	take  *pilotTake // what the pilot gets instead of an acquisition
	own   handOver   // and of a release
	guard guardedRound
	each  [][]any // arguments of EVALSHA of each master's own command; nil: all get the same
	args  []any
	calls []pipeline.Call

	granted      uint64 // masters that have agreed before the round
	grantedFence uint64 // what those gave

	asked time.Time     // for the trace
	infos []NodeInfo    // for the trace
	ttl   time.Duration // that an extension asked for

	wake     chan struct{} // gets one value when the round is decided, unless it is a renewal
	timer    *time.Timer   // of wait, runs tick
	ticked   chan struct{} // gets one value when the timer has run for good
	deadline time.Time     // guarded by mu
	said     pilotAnswer   // to take; guarded by mu
	votes    []int         // for each of several keys, guarded by mu; empty where it is all or nothing
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
			pilot:   noPilot,
			own:     handOver{command: pipeline.Command{Encoded: make([]byte, 0, 256)}},
		}
		for i := range r.calls {
			r.calls[i].Slot = i
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
	r.script, r.args, r.command = nil, r.args[:0], pipeline.Command{Encoded: r.command.Encoded[:0]}
	for i := range r.calls {
		r.calls[i].Reply, r.calls[i].Err = nil, nil
	}
	r.lock, r.renewal, r.start = nil, false, drift.Instant{}
	r.votes, r.slot = r.votes[:0], 0
	r.granted, r.grantedFence = 0, 0
	if r.guarded {
		r.guarded, r.guard = false, guardedRound{}
	}
	if r.pilot != noPilot {
		r.pilot = noPilot
		r.own.clear()
		r.take, r.said = nil, pilotAnswer{}
	}
	r.each = nil
	r.tells, r.passing = nil, false
	r.outcome, r.expired, r.cut = quorum.Open, false, false
	r.abandoned.Store(false)
	r.c.rounds.Put(r)
}

// unlock releases r.mu after left and due calls less are outstanding. If
// nobody needs the round any more it is free for its next use.
func (r *round) unlock(left, due uint8) {
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
	var said pilotAnswer
	switch {
	case c.Slot != r.pilot:
	case r.take != nil:
		said, c.Reply = readTake(c)
	case r.own.refused(c):
		c.Command = r.command.With(evalSHA, r.command.Encoded)
		r.c.masters[c.Slot].Resend(c)
		return
	default:
		c.Reply, told = r.own.split(c.Reply)
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
	due := uint8(1)
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

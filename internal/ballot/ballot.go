// Package ballot puts one question to all masters, and decides as early as the
// answers allow.
//
// It knows no lock: what is asked, and what a reply means, is its Question's
// business. It knows who may vote, when enough have answered, what a deadline
// does, and when the last call has come back, so that a ballot can be used again.
package ballot

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/mutant"
	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/voters"
)

// Config is what all ballots of a client have in common.
type Config struct {
	Masters  []*pipeline.Pipeline
	Need     int
	Voters   *voters.Monitor // nil: every master is believed
	InFlight *Count          // ballots that some master has not answered
	Closing  <-chan struct{} // closed when the client is
	// Replied, if it is not nil, is told of every master's part that has ended. It
	// is called with no lock of the ballot held.
	Replied func(b *Ballot, r Reply)
}

// A Question is what is asked. Its methods are called by pipelines' goroutines and
// must not block.
type Question interface {
	// Read says what a reply, or its want (Call.Err), means. It is called with the ballot locked, once for a
	// master, and not where its part is over already.
	Read(c *pipeline.Call) Answer
	// Resend may send a call again whose script the master does not know, or which
	// it refused together with others (Call.Apart) or as Own. false: that was the
	// answer.
	Resend(c *pipeline.Call) bool
	// Ended is told when a master's part has ended or is put off, with no lock held.
	Ended(c *pipeline.Call)
	// Free is told when nothing of the ballot is in use any more.
	Free()
}

// Rules say how a question is decided.
type Rules struct {
	Votes   bool // only the answers of masters that may vote count
	All     bool // every master's answer is wanted
	Persist bool // it is sent to all whatever the first answers say, also while the client closes
	// For internal/mutant.
	Acquires, Extends bool
}

// A Verdict is what one master's answer means for the question.
type Verdict uint8

// Verdicts.
const (
	Pending Verdict = iota
	Agreed
	Refused // another holds the key, or ours is gone
	Failed  // no usable answer
)

// An Answer is one master's part.
type Answer struct {
	Verdict   Verdict
	Delayed   bool          // failed for now: the call is kept for a later connection
	Unsent    bool          // the call came back and the master never saw it
	Late      bool          // came after the decision
	Took      time.Duration // since the question; 0 where nobody wants to know
	Candidate int           // which of several it agreed to, counted from 1; 0: there is one
	Err       error         // failed because of this
}

// A Reply is what Config.Replied is told.
type Reply struct {
	Master  int
	Answer  Answer
	Call    *pipeline.Call
	Expired bool
}

// A Ballot is one question to the masters: a call to each, their tally, and the
// decision. It is part of a larger struct, its Question, which is used again when
// Free is called (invariant L4): a late reply never counts in another ballot.
//
// What is looked at when a call comes back stands first: with a thousand ballots
// under way nothing of one is in the cache of the processor that reads a reply.
type Ballot struct {
	cfg     *Config
	q       Question
	answers []Answer      // guarded by mu
	Start   drift.Instant // read before the first byte is sent (invariant S2)

	// mu guards what follows. Nothing blocks under it.
	mu      sync.Mutex
	tally   quorum.Tally
	outcome quorum.Outcome
	expired bool  // decided by a deadline
	inUse   bool  // the starter may still look
	left    uint8 // calls that have not come back, and one while they are being queued
	due     uint8 // the same without those that are delayed: what Close waits for
	cut     bool  // by Close

	Rules     Rules
	abandoned atomic.Bool // calls that are not sent yet need not be
	// Command is what all masters are asked but for those that have one in Own; not
	// changed until the ballot is used again.
	Command pipeline.Command
	Own     []*pipeline.Command // empty, or one a master; nil: Command
	Agreed  uint64              // masters that have agreed before
	// Tell is the masters of whose part Question.Ended is told, as bits.
	Tell uint64
	// Over is told when the last call has come back; nil: nobody.
	Over *Count
	// Decided is told of the decision instead of Wait; nil: Wait is.
	Decided interface{ Decided(*Ballot) }

	calls    []pipeline.Call
	Timed    bool // Answer.Took is wanted
	asked    time.Time
	wake     chan struct{} // gets one value when it is decided, unless Decided is
	timer    *time.Timer   // of Wait, runs tick
	ticked   chan struct{} // gets one value when the timer has run for good
	deadline time.Time     // guarded by mu
}

// Init makes the parts of a new ballot. q is the struct of which it is a part.
func (b *Ballot) Init(cfg *Config, q Question) {
	n := len(cfg.Masters)
	b.cfg, b.q = cfg, q
	b.calls, b.answers = make([]pipeline.Call, n), make([]Answer, n)
	b.wake, b.ticked = make(chan struct{}, 1), make(chan struct{}, 1)
	for i := range b.calls {
		b.calls[i].Slot = i
	}
}

// Question is what Init was given.
func (b *Ballot) Question() Question { return b.q }

// Begin starts a use, which ends with LetGo.
func (b *Ballot) Begin(rules Rules) {
	b.inUse, b.Rules = true, rules
	b.tally = quorum.Tally{Total: len(b.cfg.Masters), Need: b.cfg.Need, Votes: b.tally.Votes[:0]}
}

// LetGo ends the starter's interest in it.
func (b *Ballot) LetGo() {
	b.mu.Lock()
	b.inUse = false
	b.unlock(0, 0)
}

// Lock locks what Read writes.
func (b *Ballot) Lock() { b.mu.Lock() }

// Unlock unlocks it.
func (b *Ballot) Unlock() { b.mu.Unlock() }

// Answers is every master's part. The ballot must be locked.
func (b *Ballot) Answers() []Answer { return b.answers }

// Tally is the count. The ballot must be locked.
func (b *Ballot) Tally() *quorum.Tally { return &b.tally }

// Outcome is the decision, and whether a deadline made it. The ballot must be locked.
func (b *Ballot) Outcome() (o quorum.Outcome, expired bool) { return b.outcome, b.expired }

// recycle is called exactly once a use, by whoever is last.
func (b *Ballot) recycle() {
	select {
	case <-b.wake:
	default:
	}
	clear(b.answers)
	clear(b.Own)
	b.Own = b.Own[:0]
	b.Command = pipeline.Command{Encoded: b.Command.Encoded[:0]}
	for i := range b.calls {
		b.calls[i].Reply, b.calls[i].Err = nil, nil
	}
	b.Agreed, b.Tell, b.Over, b.Decided, b.Start = 0, 0, nil, nil, drift.Instant{}
	b.outcome, b.expired, b.cut = quorum.Open, false, false
	b.abandoned.Store(false)
	b.q.Free()
}

// unlock releases b.mu after left and due calls less are outstanding. If nobody
// needs the ballot any more it is free for its next use.
func (b *Ballot) unlock(left, due uint8) {
	b.left -= left
	b.due -= due
	// Once it is free it may serve another question at any moment.
	inFlight, last := b.cfg.InFlight, b.Over
	finished := due != 0 && b.due == 0
	over := left != 0 && b.left == 0
	free := b.left == 0 && !b.inUse
	b.mu.Unlock()
	if free {
		b.recycle()
	}
	if finished {
		inFlight.Done()
	}
	if over && last != nil {
		last.Done()
	}
}

// decide takes notice of the outcome, once. The caller must hold b.mu.
func (b *Ballot) decide() {
	if b.outcome != quorum.Open {
		return
	}
	if b.Rules.All {
		if b.tally.Outstanding() == 0 {
			b.settle(quorum.Granted)
		}
		return
	}
	if o := b.tally.Outcome(); o != quorum.Open {
		b.settle(o)
	}
}

// settle sets the outcome and tells the starter. The caller must hold b.mu.
func (b *Ballot) settle(o quorum.Outcome) {
	b.outcome = o
	if o != quorum.Granted && !b.Rules.Persist {
		b.abandoned.Store(true)
	}
	if b.Decided != nil {
		b.Decided.Decided(b)
		return
	}
	b.wake <- struct{}{} // capacity 1, and settled once
}

// Expire decides at a deadline: whoever has not answered has failed.
func (b *Ballot) Expire() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.outcome == quorum.Open {
		b.expired = true
		b.settle(b.tally.Close())
	}
}

// GivenUp reports whether calls that are not sent yet need not be.
func (b *Ballot) GivenUp() bool { return b.abandoned.Load() }

// Send queues the command that has been encoded for every master, but for those
// that skip names: they are known to have nothing to tell, which counts as a
// refusal. keep is until when a call is worth repeating on a later connection;
// zero: never.
func (b *Ballot) Send(cmd string, skip uint64, keep time.Time) {
	if b.Timed {
		b.asked = time.Now()
	}
	b.cfg.InFlight.Add()
	var check []byte
	var excluded uint64
	if b.Rules.Votes {
		check, excluded = b.cfg.Voters.Check(), b.cfg.Voters.Excluded()&^(skip|b.Agreed)
	}
	b.mu.Lock()
	b.left = 1 // ours, so that it is not over before all calls are queued
	for i := range b.calls {
		switch {
		case skip&(1<<i) != 0:
			b.answers[i] = Answer{Verdict: Refused}
			b.tally.Refused++
		case b.Agreed&(1<<i) != 0:
			b.answers[i] = Answer{Verdict: Agreed}
			b.tally.OK++
		case excluded&(1<<i) != 0:
			b.answers[i] = Answer{Verdict: Failed, Unsent: true, Err: b.cfg.Voters.AbstainsNow(i, b.Start)}
			b.tally.Failed++
		default:
			b.left++
		}
	}
	b.due = b.left
	b.mu.Unlock()
	b.Command.Cmd, b.Command.Owner, b.Command.Keep, b.Command.Check = cmd, b, keep, check
	for i := range b.calls {
		if (skip|b.Agreed|excluded)&(1<<i) != 0 {
			continue
		}
		c := &b.calls[i]
		c.Command = &b.Command
		if len(b.Own) > 0 && b.Own[i] != nil {
			own := b.Own[i]
			own.Owner, own.Keep, own.Check, own.Key = b, keep, check, b.Command.Key
			c.Command = own
		}
		b.cfg.Masters[i].Enqueue(c)
	}
	b.mu.Lock()
	b.decide()
	b.unlock(1, 1)
}

// SetOwn gives a master a command of its own.
func (b *Ballot) SetOwn(i int, c *pipeline.Command) {
	if len(b.Own) == 0 {
		n := len(b.calls)
		if cap(b.Own) < n {
			b.Own = make([]*pipeline.Command, n)
		}
		b.Own = b.Own[:n]
	}
	b.Own[i] = c
}

// Resend sends a call again, perhaps with another command; from Question.Resend.
func (b *Ballot) Resend(c *pipeline.Call, other *pipeline.Command) {
	c.Command = other
	b.cfg.Masters[c.Slot].Resend(c)
}

// Abandoned implements pipeline.Owner.
func (b *Ballot) Abandoned(*pipeline.Call) bool { return b.abandoned.Load() }

// Delayed implements pipeline.Owner: a failure so far, which a late answer may still
// turn into something better.
func (b *Ballot) Delayed(c *pipeline.Call, cause error) {
	b.mu.Lock()
	a := &b.answers[c.Slot]
	if a.Delayed {
		b.mu.Unlock()
		return
	}
	a.Delayed = true
	if !b.expired {
		a.Verdict, a.Err = Failed, cause
		b.tally.Failed++
		b.decide()
	}
	if b.Tell&(1<<c.Slot) != 0 {
		b.mu.Unlock()
		b.q.Ended(c)
		b.mu.Lock()
	}
	b.unlock(0, 1)
}

// Complete implements pipeline.Owner.
func (b *Ballot) Complete(c *pipeline.Call) {
	if (pipeline.IsReply(c.Err) || c.Apart) && b.q.Resend(c) {
		return
	}
	if mutant.Is(mutant.LateReplyCounts) {
		b.countInNext(c)
	}
	abstains := b.abstains(c)
	b.mu.Lock()
	a := &b.answers[c.Slot]
	due := uint8(1)
	if a.Delayed {
		due = 0 // Delayed has counted it
	}
	a.Unsent = !c.Sent
	// Answers that come after an early decision cannot change it any more, but
	// they say more exactly why it fell as it did; after a deadline they have
	// been counted as failures.
	if !b.expired && !errors.Is(c.Err, pipeline.ErrAbandoned) {
		if a.Delayed {
			b.tally.Failed--
		}
		unsent := a.Unsent
		*a = b.q.Read(c)
		if abstains != nil && a.Verdict != Failed {
			*a = Answer{Verdict: Failed, Err: abstains}
		}
		a.Unsent, a.Late = unsent, b.outcome != quorum.Open
		if b.Timed {
			a.Took = time.Since(b.asked)
		}
		switch a.Verdict {
		case Agreed:
			b.tally.Agree(a.Candidate)
		case Refused:
			b.tally.Refused++
		default:
			b.tally.Failed++
		}
		b.decide()
	}
	if tell := b.Tell&(1<<c.Slot) != 0; tell || b.cfg.Replied != nil {
		reply := Reply{Master: c.Slot, Answer: *a, Call: c, Expired: b.expired}
		b.mu.Unlock() // it is in use until left is less
		if tell {
			b.q.Ended(c)
		}
		if b.cfg.Replied != nil {
			b.cfg.Replied(b, reply)
		}
		b.mu.Lock()
	}
	b.unlock(1, due)
}

// abstains is why a reply counts for nothing: its master may not vote.
func (b *Ballot) abstains(c *pipeline.Call) *guard.AbstainError {
	if c.Err != nil {
		b.cfg.Voters.SawError(c.Slot, c)
		return nil // it has failed anyway
	}
	if !b.Rules.Votes {
		return nil
	}
	why := b.cfg.Voters.Abstains(c.Slot, c, b.Start)
	if mutant.Is(mutant.QuarantinedCounts) && b.Rules.Extends && why != nil && why.Cause == guard.Quarantined {
		return nil
	}
	return why
}

// SinceAsked is how long ago the masters were asked; 0 where nobody wants to know.
func (b *Ballot) SinceAsked() time.Duration {
	if !b.Timed {
		return 0
	}
	return time.Since(b.asked)
}

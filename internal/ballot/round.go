// Package ballot asks all masters one question and decides it as early as their answers
// allow.
//
// It owns the calls to the masters, the count of votes, the decision and the deadline
// (invariants L1, L3). It knows when the last call is back, so a round is never used
// again too early (L4). It does not know what a lock is: the struct that contains a
// round says what the question is and what a reply means (Question). Package voters
// says which masters may vote.
package ballot

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/voters"
)

// Config is shared by all rounds of a client.
type Config struct {
	*quorum.Group
	Voters *voters.Monitor
	Timed  bool // Answer.Took is wanted
}

// Rules say how a question is decided.
type Rules struct {
	Votes   bool           // only the answers of masters that may vote count
	Needs   guard.Commands // with Votes: a master that refuses one of these commands may not vote
	All     bool           // the last answer decides it, and the outcome is always Granted
	Gone    bool           // no failure is decided while more answers may show that the lock is gone
	Persist bool           // it goes to every master, whatever the first answers are, also while the client closes
}

// A Round is one question to the masters: a call to each, their tally, and the
// decision. It is part of a larger struct, its Question, which may be used again when
// Free is called, and not before: so a late reply never counts in another round
// (invariant L4).
//
// Init is called once. Each use then calls Begin, Send, Wait (or Decided) and Done. The
// exported fields are set between Begin and Send, and do not change until Free.
//
// The fields that a reply needs come first. With a thousand rounds in flight none of
// them is in the cache of the processor that reads the reply.
type Round struct {
	cfg     *Config
	q       Question
	answers []Answer      // guarded by mu
	Start   drift.Instant // read before the first byte is sent (invariant S2)

	mu       sync.Mutex // guards answers, decision and patience. Nothing blocks under it.
	decision            // guarded by mu

	Request
	abandoned atomic.Bool // calls that were not sent yet are not needed

	calls    []pipeline.Call // by master, which is also their Slot
	asked    time.Time       // when Send was called, if Config.Timed
	wake     chan struct{}   // gets one value when the round is decided, unless Decided is set
	timer    *time.Timer     // of Wait; runs tick
	ticked   chan struct{}   // gets one value when tick has run for the last time in a Wait
	patience patience        // guarded by mu
}

// A decision is the count of the answers, and what follows from it.
type decision struct {
	tally          quorum.Tally
	outcome        quorum.Outcome
	expired        bool  // decided by a deadline
	inUse          bool  // Done has not been called
	outstanding    uint8 // calls that are not back, and one while they are being queued
	awaitedAtClose uint8 // the same without calls whose answers are Unawaited
	endedByClose   bool  // decided because the client closes
}

// A Request is what one use of a round sends, and what it notifies.
type Request struct {
	Rules Rules
	// Command goes to every master that has none in Own.
	Command pipeline.Command
	Own     []*pipeline.Command // empty, or one for each master; nil: Command. See SetOwn
	Agreed  quorum.MasterSet    // masters that agreed before the round
	// Notify has the masters for which Question.Ended is called.
	Notify quorum.MasterSet
	// SendLast has the masters whose calls are queued last. Their execution may wake a caller
	// that asks every master at once: by then all other calls are queued.
	SendLast quorum.MasterSet
	// Over, if it is not nil, counts one less when the last call is back, whether or not the
	// starter has called Done.
	Over *quorum.Count
	// Decided, if it is not nil, is called when the round is decided, with the round locked.
	// Then nobody calls Wait.
	Decided interface{ Decided(*Round) }
}

// Init prepares a new round. q is the struct that the round is part of.
func (b *Round) Init(cfg *Config, q Question) {
	n := len(cfg.Masters)
	b.cfg, b.q = cfg, q
	b.calls, b.answers = make([]pipeline.Call, n), make([]Answer, n)
	b.wake, b.ticked = make(chan struct{}, 1), make(chan struct{}, 1)
	for i := range b.calls {
		b.calls[i].Slot = i
	}
}

// Question returns the question given to Init.
func (b *Round) Question() Question { return b.q }

// Begin starts a use, which ends with Done.
func (b *Round) Begin(rules Rules) {
	b.inUse, b.Rules = true, rules
	b.tally = quorum.Tally{Total: len(b.cfg.Masters), Need: b.cfg.Need}
}

// Done ends the use for its starter, which must not touch the round afterwards. It is
// called once, before or after the decision.
func (b *Round) Done() {
	b.mu.Lock()
	b.inUse = false
	b.unlock(0, 0)
}

// Lock locks the round, and with it what its Question's Read writes.
func (b *Round) Lock() { b.mu.Lock() }

// Unlock undoes Lock. Afterwards the round may already serve another question, unless
// Done is still to be called.
func (b *Round) Unlock() { b.mu.Unlock() }

// Answers returns an answer for each master, in the order of the masters. The round must
// be locked.
func (b *Round) Answers() []Answer { return b.answers }

// Tally returns the count of the answers. The round must be locked, or not sent yet.
func (b *Round) Tally() *quorum.Tally { return &b.tally }

// Outcome returns the decision. expired says whether a deadline made it: that of Wait,
// Expire, or the client's Close. The round must be locked.
func (b *Round) Outcome() (o quorum.Outcome, expired bool) { return b.outcome, b.expired }

// reset makes the round ready for its next use. The last user of the round calls it,
// once for each use and without a lock.
func (b *Round) reset() {
	select {
	case <-b.wake:
	default:
	}
	clear(b.answers)
	clear(b.Own)
	b.Request = Request{Command: pipeline.Command{Encoded: b.Command.Encoded[:0]}, Own: b.Own[:0]}
	for i := range b.calls {
		b.calls[i] = pipeline.Call{Slot: i}
	}
	b.Start = drift.Instant{}
	b.outcome, b.expired, b.endedByClose = quorum.Open, false, false
	b.abandoned.Store(false)
	b.q.Free()
}

// unlock subtracts from the calls that are outstanding and from those that Close waits
// for, and unlocks b.mu. If nobody needs the round any more, it frees the round.
func (b *Round) unlock(outstanding, awaitedAtClose uint8) {
	b.outstanding -= outstanding
	b.awaitedAtClose -= awaitedAtClose
	// Copied, because a free round may serve another question at any moment.
	inFlight, over := &b.cfg.InFlight, b.Over
	notInFlight := awaitedAtClose != 0 && b.awaitedAtClose == 0
	allBack := outstanding != 0 && b.outstanding == 0
	free := b.outstanding == 0 && !b.inUse
	b.mu.Unlock()
	if free {
		b.reset()
	}
	if notInFlight {
		inFlight.Done()
	}
	if allBack && over != nil {
		over.Done()
	}
}

// decide decides the round, once, as soon as the tally allows it (invariant L1). The
// caller must hold b.mu.
func (b *Round) decide() {
	if b.outcome != quorum.Open {
		return
	}
	if b.Rules.All {
		if b.tally.Outstanding() == 0 {
			b.decideAs(quorum.Granted)
		}
		return
	}
	o := b.tally.Outcome()
	if _, open := b.tally.Gone(); o == quorum.Open || b.Rules.Gone && open && o != quorum.Granted {
		return
	}
	b.decideAs(o)
}

// decideAs sets the outcome and wakes the starter. The caller must hold b.mu, and call
// it once.
func (b *Round) decideAs(o quorum.Outcome) {
	b.outcome = o
	if o != quorum.Granted && !b.Rules.Persist {
		b.abandoned.Store(true)
	}
	if b.Decided != nil {
		b.Decided.Decided(b)
		return
	}
	b.wake <- struct{}{} // capacity 1, and decided once
}

// Expire decides a round that is still open: masters that have not answered have
// failed.
func (b *Round) Expire() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.outcome == quorum.Open {
		b.expired = true
		b.decideAs(b.tally.Close())
	}
}

// Abandoned implements pipeline.Owner: a call that has not been sent when the round is
// refused is not sent.
func (b *Round) Abandoned(*pipeline.Call) bool { return b.abandoned.Load() }

// Delayed implements pipeline.Owner: the call is kept for a later connection. Until it
// is answered there, it counts as failed, so that it does not delay the decision.
func (b *Round) Delayed(c *pipeline.Call, cause error) {
	b.mu.Lock()
	b.failsForNow(c, cause)
	unawaited := uint8(0)
	if a := &b.answers[c.Slot]; !a.Unawaited {
		a.Unawaited, unawaited = true, 1
	}
	b.unlock(0, unawaited)
}

// failsForNow counts a call as failed until its answer comes, if it is not counted so yet.
// The caller must hold b.mu.
func (b *Round) failsForNow(c *pipeline.Call, cause error) {
	a := &b.answers[c.Slot]
	if a.Delayed {
		return
	}
	a.Delayed = true
	if !b.expired {
		a.Verdict, a.Err = Failed, cause
		b.tally.Failed++
		b.decide()
	}
	if b.Notify.Has(c.Slot) {
		b.mu.Unlock()
		b.q.Ended(c)
		b.mu.Lock()
	}
}

// persists keeps a call of a persistent round that its master has refused, for any reason, and
// sends it again later. Until then the call counts as failed. persists returns false if the call
// is not sent again. While the client closes nothing is kept: Close has sent it once more.
func (b *Round) persists(c *pipeline.Call) bool {
	if !b.Rules.Persist || c.RetryUntil.IsZero() || !pipeline.IsReply(c.Err) || b.cfg.Closing.Err() != nil {
		return false
	}
	b.mu.Lock()
	b.failsForNow(c, c.Err)
	b.mu.Unlock()
	return b.cfg.Masters[c.Slot].RetryLater(c)
}

// Complete implements pipeline.Owner: it counts the answer.
func (b *Round) Complete(c *pipeline.Call) {
	if (pipeline.IsReply(c.Err) || c.BatchRefused) && b.q.Resend(c) {
		return
	}
	abstains := b.abstains(c)
	if b.persists(c) {
		return
	}
	master := c.Slot
	b.mu.Lock()
	a := &b.answers[master]
	awaitedAtClose := uint8(1)
	if a.Unawaited {
		awaitedAtClose = 0 // Close does not wait for it any more
	}
	a.Unsent = !c.Sent
	// An answer after an early decision does not change it, but is counted: it explains the
	// decision better. After a deadline the master is already counted as failed.
	if !b.expired && !errors.Is(c.Err, pipeline.ErrAbandoned) {
		if a.Delayed {
			b.tally.Failed--
		}
		unsent := a.Unsent
		*a = b.q.Read(c)
		if abstains != nil && (a.Verdict != Failed || c.Err != nil) {
			*a = Answer{Verdict: Failed, Err: abstains}
		}
		a.Unsent, a.Late = unsent, b.outcome != quorum.Open
		if b.cfg.Timed {
			a.Took = time.Since(b.asked)
		}
		switch a.Verdict {
		case Agreed:
			b.tally.OK++
		case Refused:
			b.tally.Refused++
		default:
			b.tally.Failed++
		}
		b.decide()
	}
	if !errors.Is(c.Err, pipeline.ErrAbandoned) {
		b.cfg.Masters[master].Count(b.verdict(a))
	}
	if b.Notify.Has(master) {
		b.mu.Unlock() // the round is not free: this call is still outstanding
		b.q.Ended(c)
		b.mu.Lock()
	}
	b.unlock(1, awaitedAtClose)
}

// verdict says how a master's part has ended. The caller must hold b.mu.
func (b *Round) verdict(a *Answer) pipeline.Verdict {
	switch {
	case b.expired:
		return pipeline.TimedOut
	case a.Verdict == Agreed:
		return pipeline.Agreed
	case a.Verdict == Refused:
		return pipeline.Refused
	default:
		return pipeline.Failed
	}
}

// abstains says why a reply does not count: its master may not vote. It returns nil if the
// reply counts, if the question needs no vote, or if the call's error says why it failed.
func (b *Round) abstains(c *pipeline.Call) *guard.AbstainError {
	if c.Err != nil {
		b.cfg.Voters.ErrorReply(c.Slot, c)
		if !pipeline.IsReply(c.Err) {
			return nil
		}
		return b.cfg.Voters.Lacks(c.Slot, b.Rules.Needs) // Redis does not always name the command
	}
	if !b.Rules.Votes {
		return nil
	}
	return b.cfg.Voters.Abstains(c.Slot, c, b.Start, b.Rules.Needs)
}

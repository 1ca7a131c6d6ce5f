package ballot

import (
	"time"

	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/quorum"
)

// Send queues Command, whose Encoded is set, for every master, or the master's own
// command. It never blocks.
//
// Masters in skip are not asked: they are known to have nothing, which counts as a
// refusal. Masters in Agreed are not asked either, and count as agreed. Until keep, a call
// whose connection is lost is sent again on the next one. If keep is zero, the call is
// lost with its connection (invariant S5).
func (b *Round) Send(cmd string, skip quorum.MasterSet, keep time.Time) {
	if b.cfg.Timed {
		b.asked = time.Now()
	}
	b.cfg.InFlight.Add()
	var check *pipeline.Check
	var excluded quorum.MasterSet
	if b.Rules.Votes {
		check, excluded = b.cfg.Voters.Check(), b.cfg.Voters.Excluded()&^(skip|b.Agreed)
	}
	b.mu.Lock()
	b.outstanding = 1 // so that the round is not over before all calls are queued
	for i := range b.calls {
		switch {
		case skip.Has(i):
			b.answers[i] = Answer{Verdict: Refused}
			b.tally.Refused++
		case b.Agreed.Has(i):
			b.answers[i] = Answer{Verdict: Agreed}
			b.tally.OK++
		case excluded.Has(i):
			b.answers[i] = Answer{Verdict: Failed, Unsent: true, Err: b.cfg.Voters.WhyExcluded(i, b.Start)}
			b.tally.Failed++
		default:
			b.outstanding++
		}
	}
	b.awaitedAtClose = b.outstanding
	b.mu.Unlock()
	b.Command.Cmd, b.Command.Owner, b.Command.RetryUntil, b.Command.Check = cmd, b, keep, check
	b.Command.Vote = b.Rules.Votes
	asked := quorum.All(len(b.calls)) &^ (skip | b.Agreed | excluded)
	for _, masters := range [...]quorum.MasterSet{asked &^ b.SendLast, asked & b.SendLast} {
		for i := range b.calls {
			if !masters.Has(i) {
				continue
			}
			c := &b.calls[i]
			c.Command = &b.Command
			if len(b.Own) > 0 && b.Own[i] != nil {
				own := b.Own[i]
				own.Owner, own.RetryUntil, own.Check = b, keep, check
				own.Key, own.Vote = b.Command.Key, b.Command.Vote
				c.Command = own
			}
			b.cfg.Masters[i].Enqueue(c)
		}
	}
	b.mu.Lock()
	b.decide()
	b.unlock(1, 1)
}

// SetOwn gives one master a command of its own. It is called before Send, which
// completes the command.
func (b *Round) SetOwn(master int, c *pipeline.Command) {
	if len(b.Own) == 0 {
		n := len(b.calls)
		if cap(b.Own) < n {
			b.Own = make([]*pipeline.Command, n)
		}
		b.Own = b.Own[:n]
	}
	b.Own[master] = c
}

// Resend sends a call again, perhaps with another command. It is for Question.Resend.
func (b *Round) Resend(c *pipeline.Call, other *pipeline.Command) {
	c.Command = other
	b.cfg.Masters[c.Slot].Enqueue(c)
}

// GivenUp reports whether calls that were not sent yet are not needed any more.
func (b *Round) GivenUp() bool { return b.abandoned.Load() }

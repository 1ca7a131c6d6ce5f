package voters

import (
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/quorum"
)

// A votingRight says whether the answers on one connection count. It does not change
// after others can see it.
type votingRight struct {
	epoch   uint64              // of the connection; 0: there is none
	reason  *guard.AbstainError // why they do not; nil: they do
	refused guard.Refused       // commands, which only some locks need
	// mark is what the check has to find in the marker; "": anything.
	mark string
	// A quarantine ends by itself: left after at. Both stay when it has ended.
	at   drift.Instant
	left time.Duration // remaining
	// from, if it is not zero, is when the master got the right to vote. It counts only
	// for questions that were asked later.
	from drift.Instant
}

// quarantineEnded reports whether only a quarantine kept the master from voting, and it
// had ended at that instant.
func (j *votingRight) quarantineEnded(at drift.Instant) bool {
	return j.reason.Cause == guard.Quarantined && j.ended(at)
}

func (j *votingRight) ended(at drift.Instant) bool {
	return j.left == 0 || at.MonotonicSub(j.at) >= j.left
}

// reasonAt is why the master may not vote now.
func (j *votingRight) reasonAt(now drift.Instant) *guard.AbstainError {
	if j.reason.Cause != guard.Quarantined {
		return j.reason
	}
	why := *j.reason
	why.Left = max(0, j.left-now.MonotonicSub(j.at))
	return &why
}

// errUnjudged is the reason of a connection that was not judged in time for the
// question.
var errUnjudged = &guard.AbstainError{Cause: guard.Unmarked}

// Abstains is why the answer of master i does not count; nil where it counts. The
// connection must be judged and may vote, and the marker must be as judged at the end
// of the flush that carried the answer. All of that must also have held when the
// question was asked. Complete calls it with a reply. Replies come in order, so the
// votingRight that is set then is not older than the call. needs are commands without
// which the master could not renew or release what it has granted. A nil Monitor counts
// every answer.
func (g *Monitor) Abstains(i int, call *pipeline.Call, asked drift.Instant, needs guard.Commands) *guard.AbstainError {
	if g == nil {
		return nil
	}
	j := g.rights[i].Load()
	switch said := call.Said(); {
	case j.epoch == 0 || j.epoch != call.Epoch:
		return errUnjudged
	case j.mark != "" && said.Mark != j.mark && (j.reason == nil || j.reason.Cause == guard.Quarantined):
		g.changed(i, j)
		return &guard.AbstainError{Cause: guard.Changed, Value: "its marker, or the history of its data, is not what it was", Err: said.Err}
	case j.reason != nil && !j.quarantineEnded(asked):
		return j.reasonAt(asked)
	case j.reason == nil && !j.ended(asked), j.from.MonotonicSub(asked) > 0:
		return errUnjudged
	}
	if j.reason != nil {
		g.released(i, j)
	}
	return j.refused.Lacking(needs)
}

// Lacks is which of the commands master i refuses; nil: none, as far as is known.
func (g *Monitor) Lacks(i int, needs guard.Commands) *guard.AbstainError {
	if g == nil {
		return nil
	}
	return g.rights[i].Load().refused.Lacking(needs)
}

// IsChange reports whether an answer did not count because the marker, or the history of
// the data, was not as judged.
func IsChange(err error) bool {
	why, ok := err.(*guard.AbstainError) //nolint:errorlint // it is never wrapped
	return ok && why.Cause == guard.Changed
}

// check is the same for all masters and clients.
var check = pipeline.NewCheck(guard.CheckCommands, guard.ReadCheck, guard.SameCheck)

// Check is the check that ends a flush with votes; nil: none does.
func (g *Monitor) Check() *pipeline.Check {
	if g == nil {
		return nil
	}
	return check
}

// Excluded is the masters that are not asked for a vote. One is a second
// address of a server: the server is asked at the first, and would refuse at the second
// what it has just granted. One refuses commands: it could not release what it would
// grant. Another is a master of another fleet, or of a fleet that is
// moved without us: we must not get in the way of its locks.
func (g *Monitor) Excluded() quorum.Bits {
	if g == nil {
		return 0
	}
	return quorum.Bits(g.excluded.Load())
}

// mustExclude finds them. If one master is of another fleet, masters that are not judged
// yet are likely to be of it too. The caller must hold g.mu.
func (g *Monitor) mustExclude() quorum.Bits {
	var refused, foreign, unjudged quorum.Bits
	for i := range g.masters {
		s := g.masters[i].standing
		if s.Vote {
			continue
		}
		switch s.Why.Cause {
		case guard.Duplicate, guard.Forbidden:
			refused.Add(i)
		case guard.OtherFleet, guard.Moved:
			foreign.Add(i)
		case guard.Unmarked:
			unjudged.Add(i)
		}
	}
	if foreign == 0 {
		return refused
	}
	return refused | foreign | unjudged
}

// AbstainsNow is why master i may not vote, as far as is known; nil: it may. A nil
// Monitor lets every master vote.
func (g *Monitor) AbstainsNow(i int, now drift.Instant) *guard.AbstainError {
	if g == nil {
		return nil
	}
	switch j := g.rights[i].Load(); {
	case j.reason != nil && !j.quarantineEnded(now):
		return j.reasonAt(now)
	case j.reason == nil && !j.ended(now):
		return errUnjudged
	}
	return nil
}

// WhyExcluded is why master i, which Excluded names, is not asked for a vote.
func (g *Monitor) WhyExcluded(i int, now drift.Instant) *guard.AbstainError {
	if why := g.AbstainsNow(i, now); why != nil {
		return why
	}
	return errUnjudged // it was judged again meanwhile
}

// MayVote reports whether the vote of master i would count now. It is for questions that
// are no votes.
func (g *Monitor) MayVote(i int) bool {
	return g == nil || g.rights[i].Load().reason == nil
}

// ErrorReply looks at an error reply. A server that is no master any more, or not yet
// again, is dialled anew: what it was judged by is out of date.
func (g *Monitor) ErrorReply(i int, call *pipeline.Call) {
	if g == nil || !isDemotion(call.Err) {
		return
	}
	g.mu.Lock()
	w := &g.masters[i]
	// A server that was no master when it was dialled would be dialled for every reply.
	known := w.epoch != call.Epoch || w.facts.Info.Role != "master"
	g.mu.Unlock()
	if !known {
		g.cfg.Masters[i].Renew(call.Epoch, call.Err)
	}
}

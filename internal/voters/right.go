package voters

import (
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/pipeline"
)

// A votingRight is whether the answers of one connection count. It is not changed
// once it can be seen.
type votingRight struct {
	epoch  uint64              // of the connection; 0: there is none
	reason *guard.AbstainError // why they do not; nil: they do
	// mark is what the check has to say of the marker; "": whatever it says.
	mark string
	// A quarantine ends by itself, left after at; it is kept when it has ended.
	at   drift.Instant
	left time.Duration // remaining
	// from, if it is not zero, is when the right to vote was gained: only
	// questions that were asked later are answered with it.
	from drift.Instant
}

// quarantineEnded reports whether nothing but a quarantine stood in the way, and it had
// ended at an instant.
func (j *votingRight) quarantineEnded(at drift.Instant) bool {
	return j.reason.Cause == guard.Quarantined && j.ended(at)
}

func (j *votingRight) ended(at drift.Instant) bool {
	return j.left == 0 || at.MonotonicSub(j.at) >= j.left
}

// reasonAt is why the master may not vote, as of now.
func (j *votingRight) reasonAt(now drift.Instant) *guard.AbstainError {
	if j.reason.Cause != guard.Quarantined {
		return j.reason
	}
	why := *j.reason
	why.Left = max(0, j.left-now.MonotonicSub(j.at))
	return &why
}

// errUnjudged is of a connection that has not been judged, or not in time for
// the question.
var errUnjudged = &guard.AbstainError{Cause: guard.Unmarked}

// Abstains is why the answer of master i counts for nothing, nil where it counts:
// it came by a connection that was judged and may vote, the marker was as judged
// when the flush that carried the answer ended, and all of that was so when the
// question was asked. It is called when the call has come back with a reply, from
// Complete: replies come in order, so a votingRight that was made by then is not
// older than the call. A nil Monitor believes everybody.
func (g *Monitor) Abstains(i int, call *pipeline.Call, asked drift.Instant) *guard.AbstainError {
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
	return nil
}

// check is the same for all masters and clients.
var check = pipeline.NewCheck(guard.CheckCommands, guard.ReadCheck)

// Check is the check that ends a flush with votes; nil: none does.
func (g *Monitor) Check() *pipeline.Check {
	if g == nil {
		return nil
	}
	return check
}

// Excluded is the masters that are asked for no vote, as bits: those that
// are the same server as another address, since the server is asked there, and
// would refuse the one what it has just granted the other; and those of another
// fleet, or of one that is moved without us, whose locks are none of ours to get in the
// way of.
func (g *Monitor) Excluded() uint64 {
	if g == nil {
		return 0
	}
	return g.excluded.Load()
}

// mustExclude says which those are. Beside a master of another fleet those that have
// not been judged yet are likely to be of it, too. The caller must hold g.mu.
func (g *Monitor) mustExclude() uint64 {
	var duplicates, foreign, unjudged uint64
	for i := range g.masters {
		s := g.masters[i].standing
		if s.Vote {
			continue
		}
		switch s.Why.Cause {
		case guard.Duplicate:
			duplicates |= 1 << i
		case guard.OtherFleet, guard.Moved:
			foreign |= 1 << i
		case guard.Unmarked:
			unjudged |= 1 << i
		}
	}
	if foreign == 0 {
		return duplicates
	}
	return duplicates | foreign | unjudged
}

// AbstainsNow is why master i may not vote, as far as is known; nil: it may.
// A nil Monitor believes everybody.
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

// WhyExcluded is why master i, which Excluded names, is asked for no vote.
func (g *Monitor) WhyExcluded(i int, now drift.Instant) *guard.AbstainError {
	if why := g.AbstainsNow(i, now); why != nil {
		return why
	}
	return errUnjudged // it is judged again by now
}

// MayVote reports whether master i would be counted now, for what is asked of it
// beside its vote.
func (g *Monitor) MayVote(i int) bool {
	return g == nil || g.rights[i].Load().reason == nil
}

// ErrorReply takes notice of an error reply. A master that is one no more, or not
// again yet, is dialled anew: what it was judged by is of before.
func (g *Monitor) ErrorReply(i int, call *pipeline.Call) {
	if g == nil || !isDemotion(call.Err) {
		return
	}
	g.mu.Lock()
	w := &g.masters[i]
	// One that was no master when it was dialled would be dialled for every reply.
	known := w.epoch != call.Epoch || w.facts.Info.Role != "master"
	g.mu.Unlock()
	if !known {
		g.pipes[i].Renew(call.Epoch, call.Err)
	}
}

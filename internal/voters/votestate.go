package voters

import (
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/quorum"
)

// A voteState says whether the answers on one connection count. It does not change
// after others can see it.
type voteState struct {
	epoch   uint64              // of the connection; 0: there is none
	reason  *guard.AbstainError // why they do not; nil: they do
	refused guard.Refused       // commands, which only some locks need
	// mark is what the check has to find in the marker; "": anything.
	mark string
	// A quarantine ends by itself, left after at. Both stay set after it has ended.
	at   drift.Instant
	left time.Duration // remaining
	// from, if it is not zero, is when the master got the right to vote. It counts only
	// for questions that were asked later.
	from drift.Instant
}

// quarantineEnded reports whether only a quarantine kept the master from voting, and it
// had ended at that instant.
func (j *voteState) quarantineEnded(at drift.Instant) bool {
	left, ok := j.quarantine(at)
	return ok && left == 0
}

// quarantine is for how long only a quarantine keeps the master from voting; false: none does.
func (j *voteState) quarantine(now drift.Instant) (left time.Duration, ok bool) {
	if j.reason == nil || j.reason.Cause != guard.Quarantined {
		return 0, false
	}
	return max(0, j.left-now.MonotonicSub(j.at)), true
}

func (j *voteState) ended(at drift.Instant) bool {
	return j.left == 0 || at.MonotonicSub(j.at) >= j.left
}

// reasonAt is why the master may not vote now.
func (j *voteState) reasonAt(now drift.Instant) *guard.AbstainError {
	left, ok := j.quarantine(now)
	if !ok {
		return j.reason
	}
	why := *j.reason
	why.Left = left
	return &why
}

// errUnjudged is the reason of a connection that was not judged in time for the question.
var errUnjudged = &guard.AbstainError{Cause: guard.Unmarked}

// Abstains is why the answer of master i does not count; nil where it counts. The connection must
// be judged and may vote, and the marker must be as judged at the end of the flush that carried the
// answer. All of that must also have held when the question was asked. Complete calls it with a
// reply. Replies come in order, so the voteState that is set then is not older than the call. needs
// are commands without which the master could not renew or release what it has granted.
func (g *Monitor) Abstains(i int, call *pipeline.Call, asked drift.Instant, needs guard.Commands) *guard.AbstainError {
	j := g.voteStates[i].Load()
	switch said := call.Said(); {
	case j.epoch == 0 || j.epoch != call.Epoch:
		return errUnjudged
	case j.mark != "" && said.Mark != j.mark &&
		(j.reason == nil || j.reason.Cause == guard.Quarantined || j.reason.Cause == guard.Unreadable):
		g.changed(i, j)
		const what = "its marker, or the history of its data, is not what it was"
		return &guard.AbstainError{Cause: guard.Changed, Value: what, Err: said.Err}
	case j.reason != nil && !j.quarantineEnded(asked):
		return j.reasonAt(asked)
	case j.reason == nil && !j.ended(asked), j.from.MonotonicSub(asked) > 0:
		return errUnjudged
	}
	return j.refused.Lacking(needs)
}

// Lacks is which of the commands master i refuses; nil: none, as far as is known.
func (g *Monitor) Lacks(i int, needs guard.Commands) *guard.AbstainError {
	return g.voteStates[i].Load().refused.Lacking(needs)
}

// check is the same for all masters and clients.
var check = pipeline.NewCheck(guard.CheckCommands, guard.ReadCheck, guard.SameCheck)

// Check is the check that ends a flush with votes; nil: none does.
func (g *Monitor) Check() *pipeline.Check {
	if g.trusting {
		return nil
	}
	return check
}

// Excluded returns the masters that are not asked for a vote, each for one of these reasons. It is
// a second address of a server: the server would refuse there what it has just granted at the
// first. It refuses commands, or has not answered yet and may refuse them: it could not release
// what it grants. It is a member of a cluster, or a Sentinel. It is of another fleet: we must not
// get in the way of that fleet's locks.
func (g *Monitor) Excluded() quorum.MasterSet {
	return quorum.MasterSet(g.excluded.Load())
}

// mustExclude finds the masters to exclude. If one master is of another fleet, masters that are not
// judged yet are likely to be of it too. The caller must hold g.mu.
func (g *Monitor) mustExclude() quorum.MasterSet {
	var refused, foreign, unjudged quorum.MasterSet
	// A user that lacks what a release needs, or the marker, usually lacks it on all masters. So a
	// master that has not answered the probe is not asked before any master has answered it, or
	// while any refuses. A master that refused on its last connection is likely to refuse on the
	// next, too.
	anybody, denied := false, false
	for i := range g.masters {
		w := &g.masters[i]
		if w.looked {
			w.denies = w.facts.Refused.Vital() || isRefusal(w.facts.MarkerErr)
		}
		anybody, denied = anybody || w.probed, denied || w.denies
	}
	unprobed := func(i int) {
		if w := &g.masters[i]; (w.denies || !w.probed && (denied || !anybody)) && !g.trusting {
			refused.Add(i)
		}
	}
	for i := range g.masters {
		s := g.masters[i].standing
		if s.Vote {
			continue
		}
		switch s.Why.Cause {
		case guard.Duplicate, guard.Forbidden, guard.NotStandalone:
			refused.Add(i)
		case guard.NotConnected:
			if g.masters[i].redialing { // otherwise it is not asked anyway
				unprobed(i)
			}
		case guard.OtherFleet:
			foreign.Add(i)
		case guard.Unmarked:
			unjudged.Add(i)
			unprobed(i)
		}
	}
	if foreign == 0 {
		return refused
	}
	return refused | foreign | unjudged
}

// AbstainsNow is why master i may not vote, as far as is known; nil: it may.
func (g *Monitor) AbstainsNow(i int, now drift.Instant) *guard.AbstainError {
	switch j := g.voteStates[i].Load(); {
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
	return errUnjudged // it was judged again in the meantime
}

// MayVote reports whether the vote of master i would count now. It is for questions that are not
// votes.
func (g *Monitor) MayVote(i int) bool {
	return g.voteStates[i].Load().reason == nil
}

// ErrorReply looks at an error reply. A server that is no longer a master, or not yet one again, is
// dialled anew: what was found out about it is out of date.
func (g *Monitor) ErrorReply(i int, call *pipeline.Call) {
	if !isDemotion(call.Err) {
		return
	}
	g.mu.Lock()
	w := &g.masters[i]
	// Otherwise a server that was no master when it was dialled would be dialled for every reply.
	known := w.epoch != call.Epoch || w.facts.Info.Role != "master"
	if g.trusting { // nobody knows what it was
		known = w.epoch != call.Epoch || time.Since(w.dialled) < leastRedial
	}
	g.mu.Unlock()
	if !known {
		g.cfg.Masters[i].Renew(call.Epoch, call.Err)
	}
}

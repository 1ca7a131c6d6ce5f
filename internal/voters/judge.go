package voters

import (
	"errors"
	"slices"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/pipeline"
)

// This file has what the Monitor concludes from the answers of all masters: which of them may vote,
// and what to do about masters without a marker.

// judge judges all masters by what is known now. The caller must hold g.mu.
func (g *Monitor) judge() {
	now := g.cfg.Clock.Now()
	facts := g.facts()
	standings := g.standings(facts, now)
	for i := range standings {
		g.setRight(i, standings[i], now)
	}
	g.plan(facts, now)
	unheard := slices.ContainsFunc(g.masters, func(w masterState) bool {
		return w.facts.Word == guard.None && (w.redialing || w.asking != nil)
	})
	votes, soon, again := 0, 0, false
	for i := range g.masters {
		w := &g.masters[i]
		switch {
		case w.standing.Vote:
			votes++
		case w.redialing, w.asking != nil && w.standing.Why.Passes() && w.standing.Why.Cause != guard.Quarantined,
			w.standing.Why.Cause == guard.NoMarker && w.standing.Why.Left == 0,
			unheard && w.standing.Why.Cause == guard.OtherFleet && w.standing.Why.Aliases != nil: // others may say more
			soon++
		}
		again = again || w.asking == nil && w.pause() < w.every || w.elsewhere() ||
			!w.standing.Vote && w.standing.Why.Cause == guard.Quarantined
	}
	if again {
		g.askDue() // before the calls that wait may ask
		g.signal()
	}
	g.excluded.Store(uint64(g.mustExclude()))
	g.countVotes()
	g.setOpen(!g.trusting && votes < g.cfg.Need && votes+soon >= g.cfg.Need)
}

// facts is what all masters say. A master that has not said which server it is counts as not
// connected. The caller must hold g.mu.
func (g *Monitor) facts() []guard.Facts {
	facts := make([]guard.Facts, len(g.masters))
	for i := range g.masters {
		w := &g.masters[i]
		facts[i] = w.facts
		facts[i].Connected = w.looked
		answered := w.looked &&
			(w.facts.MarkerErr == nil && w.facts.Marker.Verdict != guard.None || isRefusal(w.facts.MarkerErr))
		facts[i].Pending = w.redialing || w.epoch != 0 && !answered || maybeUp(w.facts.Err)
	}
	return facts
}

// maybeUp reports whether a master with this error may be up all the same, and answer the next
// dial: the master or this client may just be slow.
func maybeUp(err error) bool {
	return errors.Is(err, pipeline.ErrTimeout) || errors.Is(err, pipeline.ErrStalled) ||
		errors.Is(err, pipeline.ErrConnectionLost)
}

// standings judges all masters. The caller must hold g.mu.
func (g *Monitor) standings(facts []guard.Facts, now drift.Instant) []guard.Standing {
	standings := g.cfg.Guard.Standings(facts, now)
	for i := range standings {
		if w := &g.masters[i]; w.epoch != 0 && !w.looked {
			standings[i].Why = &guard.AbstainError{Cause: guard.Unmarked, Err: w.facts.MarkerErr}
		}
	}
	return standings
}

// setRight sets whether a master's answers count. The caller must hold g.mu.
func (g *Monitor) setRight(i int, s guard.Standing, now drift.Instant) {
	w := &g.masters[i]
	before := g.voteStates[i].Load()
	j := &voteState{epoch: w.epoch, reason: s.Why, at: now, refused: w.facts.Refused}
	if j.epoch == before.epoch {
		j.from = before.from
	}
	// A master that may not vote because INFO cannot be read is looked at as soon as a check reads
	// it.
	unread := s.Why != nil && s.Why.Cause == guard.Unreadable && w.facts.Marker.Run != ""
	if unread || w.facts.Info.RunID != "" {
		j.mark = w.facts.Mark()
	}
	switch {
	case s.Why != nil:
		j.left = s.Why.Left
	case j.epoch == before.epoch && j.mark == before.mark:
		// A question that was asked during a quarantine does not count after the quarantine ends.
		j.at, j.left = before.at, before.left
	}
	if s.Vote && inherits(g.masters, i) {
		j.from = now
	}
	g.voteStates[i].Store(j)
	w.standing = s
	if w.looked && !w.elsewhere() {
		w.redial = 0
	}
	g.report(i)
}

// inherits notes that a master has the vote of its server. It reports whether another address of
// the server had that vote before: then one question might count both. The caller must hold the
// Monitor's mu.
func inherits(masters []masterState, i int) bool {
	run := masters[i].facts.Info.RunID
	if run == "" || masters[i].votedAs == run {
		return false
	}
	masters[i].votedAs = run
	inherited := false
	for j := range masters {
		if j != i && masters[j].votedAs == run {
			masters[j].votedAs, inherited = "", true
		}
	}
	return inherited
}

// plan asks for the markers that have to be written or changed. The caller must hold g.mu.
func (g *Monitor) plan(facts []guard.Facts, now drift.Instant) {
	if g.cfg.ReadOnly {
		return
	}
	plan := g.cfg.Guard.Plan(facts, now)
	busy := slices.ContainsFunc(g.masters, func(w masterState) bool { return w.asking != nil })
	// All masters were empty at one instant. A look that is under way cannot change
	// that, and with masters far away some look always is under way.
	writing := slices.ContainsFunc(g.masters, func(w masterState) bool {
		return w.asking != nil && w.asking.purpose.writes()
	})
	switch plan.Step {
	case guard.Again:
		if busy || slices.ContainsFunc(g.masters, func(w masterState) bool {
			return w.standing.Vote || w.standing.Why.Cause != guard.NoMarker
		}) {
			return
		}
		for i := range g.masters { // all answered MISSING, but at different instants
			g.send = append(g.send, g.look(i))
		}
	case guard.ToDeclare:
		if writing {
			return
		}
		g.cfg.Deliverer.Info("the fleet is new: no master has been used for locks; "+
			"masters that were in use before have lost them", "masters", len(facts))
		for _, i := range plan.Masters {
			seen := g.masters[i].facts.Marker.Fields
			g.send = append(g.send, g.ask(i, askDeclare, guard.Declare, func(t guard.Target) []any {
				return g.cfg.Guard.DeclareArgs(t, seen)
			}))
		}
	case guard.ToAdopt:
		for _, i := range plan.Masters {
			f := g.masters[i].facts
			if g.masters[i].asking != nil {
				continue
			}
			g.send = append(g.send, g.ask(i, askAdopt, guard.Adopt, func(t guard.Target) []any {
				return g.cfg.Guard.AdoptArgs(t, f, g.cfg.Owner)
			}))
		}
	}
}

package guard

import (
	"slices"
	"time"

	"github.com/redquorum/redquorum/drift"
)

// A Step is what to do about the markers of a fleet.
type Step uint8

// The steps. Strict declares nothing: a new fleet waits for its quarantine.
const (
	// Nothing: all is as it should be. Or the clients disagree about the fleet, and nobody
	// may write a marker.
	Nothing Step = iota
	// Again: run the dial script on all masters again, at once, and plan anew.
	Again
	// Wait: look again as usual, and plan anew. The lack of a marker must be known for longer.
	Wait
	// ToDeclare: the fleet is new. Declare it on all masters, on the connections of the Facts, and
	// say so in the log.
	ToDeclare
	// ToAdopt: the fleet is not new, so these masters have lost their data or replace others. Adopt
	// them.
	ToAdopt
)

// A Plan is a step and its masters.
type Plan struct {
	Step    Step
	Masters []int
}

const (
	// settleFor is how long masters must be known to have no marker before they are
	// adopted: other clients may be declaring the fleet right now.
	settleFor = time.Second
	// declaredFor is the same for a master on which nobody has seen a marker, while others of the
	// fleet are declared: the client that declares them may be slow.
	declaredFor = 10 * time.Second
	// longestWait bounds how long an adoption waits for masters that neither answer nor fail. It is
	// less than the day for which a sighting is kept: the adoption counts from the sighting.
	longestWait = time.Hour
)

// Plan decides what to do about markers, by what all masters say, as of now.
//
// A fleet is new if all N masters, N different servers that are fit to be masters, have no marker
// at the same instant: each has answered MISSING before that instant and after it. One look is not
// enough. During a rolling restart each master may be found empty at another time, and another
// client may have adopted it since. A client that then declared those that are still empty would
// let them vote, although they have just forgotten their locks.
//
// A fleet that has lost everything on all N masters looks like a new one. So a client that has ever
// seen a marker on one of them declares nothing. While that master has no marker, the client also
// notes on it that it is known; then nobody declares it. One gap remains: a client that has seen
// nothing of the fleet may be quicker than all clients that have. Only strict closes it.
//
// Otherwise masters without a marker are adopted when the lack has been known for a second and
// every master has answered or failed. A master that has done neither may still show that the fleet
// is new, or is another one. Beside declared masters the adoption takes ten seconds, unless
// somebody has seen a marker on the master: a slow client may be about to declare it. If that
// client was cut off, no other completes its declaration, and the fleet gives locks after a
// quarantine. The master itself notes since when the lack is known (seen in marker.lua), so clients
// that live for less than a second can adopt it together. Waiting is safe: none of these masters
// votes in the meantime. It also costs nothing: an adopted master remembers from when it was first
// seen without a marker. So the adoption waits for a master that neither answers nor fails until
// the adopted ones would vote, at most for longestWait.
func (c Config) Plan(facts []Facts, now drift.Instant) Plan {
	if c.Level == Off || slices.ContainsFunc(facts, func(f Facts) bool { return f.Word == Conflict }) {
		return Plan{}
	}
	missing := c.missing(facts)
	if missing == nil {
		return Plan{}
	}
	if c.mayBeNew(facts, missing) {
		switch {
		case c.Masters == 1 && facts[0].sightedFor(now) < settleFor: // it may be a restarted master of a larger fleet
			return Plan{Step: Wait}
		case !atOnce(facts):
			return Plan{Step: Again}
		}
		return Plan{Step: ToDeclare, Masters: missing}
	}
	missing = slices.DeleteFunc(missing, func(i int) bool { return !c.settled(facts, i, now) })
	if len(missing) == 0 {
		return Plan{Step: Wait}
	}
	return Plan{Step: ToAdopt, Masters: missing}
}

// missing returns the masters without a marker that may be given one.
func (c Config) missing(facts []Facts) (missing []int) {
	for i, f := range facts {
		if !f.Connected || f.MarkerErr != nil || f.Marker.Verdict != Missing || f.Info.RunID == "" {
			continue
		}
		if first, _ := aliases(facts, i); first && refuse(f.Info) == nil {
			missing = append(missing, i)
		}
	}
	return missing
}

// mayBeNew reports whether, as far as this client can see, all masters of the fleet have no marker
// and are fit to be declared, and nobody has seen a marker on one of them. In strict it is false.
func (c Config) mayBeNew(facts []Facts, missing []int) bool {
	return c.Level == Standard && len(missing) == c.Masters && len(missing) == len(facts) &&
		!slices.ContainsFunc(facts, func(f Facts) bool { return f.unguarded() || f.known() })
}

// settled reports whether master i, which has no marker, may be adopted: waiting longer would show
// nothing more.
func (c Config) settled(facts []Facts, i int, now drift.Instant) bool {
	f := facts[i]
	known, least := f.sightedFor(now), settleFor
	if !f.known() && slices.ContainsFunc(facts, func(f Facts) bool { return f.Marker.How == HowDeclared }) {
		least = declaredFor
	}
	return known >= c.settling(f) ||
		known >= least && !f.stranger() && !slices.ContainsFunc(facts, func(f Facts) bool { return f.Pending })
}

// settling is how long the lack of a marker must be known before the master is adopted whatever
// else is known: until it would vote, or longestWait.
func (c Config) settling(f Facts) time.Duration {
	return max(settleFor, min(c.quarantineAfter(f.Longest), longestWait))
}

// sightedFor is for how long it has been known that the master has no marker.
func (f Facts) sightedFor(now drift.Instant) time.Duration {
	return f.Marker.Sighted + now.MonotonicSub(f.Marker.Clock.Received)
}

// stranger reports whether the master has lost a marker that clients other than this one have to
// replace: somebody has seen one there, but the last that this client has seen, if any, had other
// settings. Otherwise a passing client with a shorter list would take a restarted master away from
// its fleet.
func (f Facts) stranger() bool { return f.known() && !f.Ours }

// known reports whether a client has seen a marker there, this one or another.
func (f Facts) known() bool { return f.Seen != "" || f.Marker.Known }

// atOnce reports whether there was an instant at which none of these masters had a marker:
// after each had first said so, and before any was asked for the last time.
func atOnce(facts []Facts) bool {
	for _, first := range facts {
		for _, last := range facts {
			if first.missingFrom.IsZero() || last.Marker.Clock.Sent.IsZero() ||
				first.missingFrom.MonotonicSub(last.Marker.Clock.Sent) > 0 {
				return false
			}
		}
	}
	return true
}

// marked reports whether the master has a marker of this configuration.
func (f Facts) marked(c Config) bool {
	return f.Connected && f.MarkerErr == nil && f.Marker.Verdict.written() && f.Marker.Matches(c)
}

// Replaceable reports whether Init may declare a master that has a marker: the master had none
// when it got this one, and does not vote yet. So it had nothing to remember, and has promised
// nothing since.
func (c Config) Replaceable(f Facts, now drift.Instant) bool {
	age, ok := f.age(now)
	return ok && f.marked(c) && f.Marker.How == HowAdopted && f.Marker.Was == "" && age < c.Quarantine()
}

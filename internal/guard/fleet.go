package guard

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redquorum/redquorum/drift"
)

// A Step is what to do about the markers of a fleet.
type Step uint8

// The steps. (In strict the dial script writes a marker where there is none, and a new fleet
// waits for its quarantine. So strict uses only the steps from ToName on.)
const (
	// Nothing: all is as it should be. Or the clients disagree about the fleet, and nobody
	// may write a marker.
	Nothing Step = iota
	// Again: run the dial script on all masters again, at once, and plan anew.
	Again
	// Wait: look again as usual, and plan anew. Masters without a marker are to be known as
	// such for longer.
	Wait
	// ToDeclare: the fleet is new. Declare it on each of these masters, on the connections
	// of the Facts, and warn in the log.
	ToDeclare
	// ToAdopt: the fleet is not new, so these have lost their data or replace
	// others. Adopt them.
	ToAdopt
	// ToName: give these the id of the fleet.
	ToName
	// ToComplete: note on these that no master of the fleet is absent any more.
	ToComplete
	// ToRevoke: these were declared new, without a master that has turned out to be
	// of an older fleet. Take their vote back, and warn in the log.
	ToRevoke
	// ToClose: tell these that the fleet is being moved, as others of its
	// masters say.
	ToClose
)

// A Plan is a step, its masters, and the fleet's id for their markers; "": none is known. With
// ToClose it is the name of the move.
type Plan struct {
	Step    Step
	Masters []int
	Fleet   string
}

const (
	// settleFor is how long masters must be known to have no marker before they are
	// adopted: other clients may be declaring the fleet right now.
	settleFor = time.Second
	// longestWait bounds how long masters are waited for that neither answer nor fail. A
	// sighting, from which the adoption counts, is kept for a day.
	longestWait = time.Hour
)

// Plan decides what to do about markers, by what all masters say, as of now.
//
// A fleet is new if all N masters, N different servers that are fit to be masters, have no
// marker at the same instant: each has answered MISSING before that instant and after it. One
// look is not enough. During a rolling restart each master may be found empty at another time,
// and another client may have adopted it since. A client that then declared those that are
// still empty would let them vote, although they have just forgotten their locks.
//
// All N masters that have lost everything look the same. So a client that has ever seen a
// marker on one of them declares nothing, and says on each such master, while it has none,
// that it is known; then nobody declares it. What is left is a client that has seen nothing of
// the fleet, and is quicker than all that have. Only strict closes that.
//
// A declaration that was begun is completed by whoever finds it so (begun).
//
// Otherwise masters without a marker are adopted when the lack has been known for a second and
// every master has answered or failed: a master that has not may show that the fleet is new, or
// is another one. The master itself notes since when the lack is known (seen in marker.lua). So
// clients that live for less than a second can adopt it together. Waiting is safe: none of
// these masters votes meanwhile. It costs nothing, either: an adopted master remembers since it
// was seen first. So a master that does neither is waited for until the others would vote.
func (c Config) Plan(facts []Facts, now drift.Instant) Plan {
	if c.Level == Off || slices.ContainsFunc(facts, func(f Facts) bool {
		return f.Connected && f.MarkerErr == nil && f.Marker.Verdict == Conflict
	}) {
		return Plan{}
	}
	if declared, id := c.wrongly(facts, now); declared != nil {
		return Plan{ToRevoke, declared, id}
	}
	if p, open := c.planClosing(facts); open {
		return p
	}
	if c.movedTo(facts) != "" {
		return Plan{} // clients that know of the move do what this fleet needs
	}
	if missing := c.missing(facts); missing != nil && c.Level == Standard {
		return c.planMissing(facts, missing, now)
	}
	return c.planFleet(facts)
}

// missing are the masters without a marker that may be given one.
func (c Config) missing(facts []Facts) (missing []int) {
	for i, f := range facts {
		if !f.Connected || f.MarkerErr != nil || f.Marker.Verdict != Missing || f.Info.RunID == "" {
			continue
		}
		if first, _ := twins(facts, i); first && refuse(f.Info) == nil {
			missing = append(missing, i)
		}
	}
	return missing
}

func (c Config) planMissing(facts []Facts, missing []int, now drift.Instant) Plan {
	fit := 0
	for _, i := range missing {
		if !facts[i].unguarded() {
			fit++
		}
	}
	switch {
	case fit == c.Masters && fit == len(facts) && !slices.ContainsFunc(facts, Facts.known):
		if !atOnce(facts) {
			return Plan{Step: Again}
		}
		return Plan{ToDeclare, missing, c.NewFleetID(facts)}
	case c.begun(facts, missing):
		return Plan{ToDeclare, missing, c.NewFleetID(facts)}
	case c.settled(facts, missing, now):
		fleet, _ := c.FleetID(facts)
		return Plan{ToAdopt, missing, fleet}
	default:
		return Plan{Step: Wait}
	}
}

// settled reports whether waiting longer would tell nothing more about masters without a
// marker.
func (c Config) settled(facts []Facts, missing []int, now drift.Instant) bool {
	enough := max(settleFor, min(c.Quarantine(), longestWait)) // the script adopts none sooner
	known := enough
	for _, i := range missing {
		m := facts[i].Marker
		known = min(known, m.Sighted+now.MonotonicSub(m.Clock.Received))
	}
	return known >= enough || known >= settleFor && !slices.ContainsFunc(facts, func(f Facts) bool { return f.Pending })
}

// begun reports whether the fleet was declared, and only these masters were not reached: by who
// has declared the others all were found new together. Their markers and the sightings of
// these masters make the fleet's id only if these still are what they were then. So none of
// them has had a marker since, or has lost anything. Declare looks once more.
func (c Config) begun(facts []Facts, missing []int) bool {
	id := c.NewFleetID(facts)
	declared := 0
	for _, f := range facts {
		if f.marked(c) && f.Marker.How == HowDeclared && f.Marker.Fleet == id {
			declared++
		}
	}
	return declared > 0 && declared+len(missing) == len(facts) && !slices.ContainsFunc(missing, func(i int) bool { return facts[i].known() })
}

// known reports whether somebody has seen a marker there, this client or another.
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

// planFleet decides what to do about the fleet's ids in the markers.
func (c Config) planFleet(facts []Facts) Plan {
	id, settled := c.FleetID(facts)
	if !settled {
		if id = c.smallest(facts); id == "" {
			id = c.NewFleetID(facts)
		}
	}
	var marked, others, unnamed, flagged []int
	for i, f := range facts {
		if !f.marked(c) {
			continue
		}
		marked = append(marked, i)
		switch {
		case f.Marker.Fleet == "":
			unnamed = append(unnamed, i)
		case f.Marker.Fleet != id:
			others = append(others, i)
		}
		if f.Marker.Without == "1" {
			flagged = append(flagged, i)
		}
	}
	switch {
	case settled && unnamed != nil:
		return Plan{ToName, unnamed, id}
	case settled && flagged != nil && len(marked) == len(facts) && others == nil:
		return Plan{ToComplete, flagged, id}
	case !settled && len(marked) >= c.need() && len(unnamed)+len(others) > 0 && !c.maySettle(facts, len(facts)-len(marked), id):
		return Plan{ToName, append(unnamed, others...), id}
	}
	return Plan{}
}

// maySettle reports whether another id may be that of a quorum, while so many masters do not
// tell theirs: then it must not be replaced.
func (c Config) maySettle(facts []Facts, unseen int, id string) bool {
	count := map[string]int{}
	for _, f := range facts {
		if f.marked(c) && f.Marker.Fleet != "" && f.Marker.Fleet != id {
			if count[f.Marker.Fleet]++; count[f.Marker.Fleet]+unseen >= c.need() {
				return true
			}
		}
	}
	return false
}

// marked reports whether the master has a marker of this configuration.
func (f Facts) marked(c Config) bool {
	return f.Connected && f.MarkerErr == nil && f.Marker.Verdict.written() && f.Marker.Matches(c)
}

func (c Config) need() int { return c.Masters/2 + 1 }

// FleetID is the id that a quorum of the markers have. It does not change any more.
func (c Config) FleetID(facts []Facts) (id string, settled bool) {
	count := map[string]int{}
	for _, f := range facts {
		if !f.marked(c) || f.Marker.Fleet == "" {
			continue
		}
		if count[f.Marker.Fleet]++; count[f.Marker.Fleet] >= c.need() {
			return f.Marker.Fleet, true
		}
	}
	return "", false
}

// smallest is the id on which the markers settle if clients have given them several: a client
// that sees a smaller one uses that.
func (c Config) smallest(facts []Facts) string {
	least := ""
	for _, f := range facts {
		if id := f.Marker.Fleet; f.marked(c) && id != "" && (least == "" || id < least) {
			least = id
		}
	}
	return least
}

// NewFleetID is the id of a fleet that has none yet: the same for all clients that
// see the same processes, sighted as new at the same times, and another one for every other
// fleet.
func (c Config) NewFleetID(facts []Facts) string {
	var runs []string
	for _, f := range facts {
		if f.Connected && f.Info.RunID != "" {
			runs = append(runs, f.Info.RunID+"/"+strconv.Itoa(f.DB)+f.sighting())
		}
	}
	if runs == nil {
		return ""
	}
	slices.Sort(runs)
	sum := sha256.Sum256([]byte(c.settings() + " " + strings.Join(runs, " ")))
	return hex.EncodeToString(sum[:10])
}

// sighting is by what the master was found new, or is; "": it was not.
func (f Facts) sighting() string {
	switch {
	case f.Marker.Verdict == Missing:
		return " " + f.Marker.Since + "/" + f.Marker.Wall
	case f.Marker.Seen != "":
		return " " + f.Marker.Seen
	}
	return ""
}

// wrongly finds a fleet that was declared new while some of its masters were absent, if one of
// these has come back with an older marker: the fleet was not new. It returns the fleet's
// masters and its id.
func (c Config) wrongly(facts []Facts, now drift.Instant) (declared []int, id string) {
	for i, f := range facts {
		if !f.marked(c) || f.Marker.Without != "1" || declared != nil && f.Marker.Fleet > id {
			continue
		}
		if f.Marker.Fleet < id { // of several the smallest, in whatever order they are
			declared = nil
		}
		declared, id = append(declared, i), f.Marker.Fleet
	}
	for _, f := range facts {
		if declared != nil && f.marked(c) && f.Marker.Fleet != id && !c.givenLately(f, now) {
			return declared, id
		}
	}
	return nil, ""
}

// givenLately reports whether a marker says nothing about the past: the master had none and got
// it before the declaration, or later from a client that did not know the id.
func (c Config) givenLately(f Facts, now drift.Instant) bool {
	m := f.Marker
	return c.Replaceable(f, now) || m.Fleet == "" && (m.How == HowAdopted || m.How == HowCreated)
}

// Replaceable reports whether Init may declare a master that has a marker: the master had none
// when it got this one, and does not vote yet. So it had nothing to remember, and has promised
// nothing since.
func (c Config) Replaceable(f Facts, now drift.Instant) bool {
	age, ok := f.age(now)
	how := f.Marker.How
	return ok && f.marked(c) && (how == HowAdopted || how == HowCreated) && age < c.Quarantine()
}

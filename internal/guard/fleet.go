package guard

import "github.com/redquorum/redquorum/drift"

// A Step is what to do about masters without a marker, in standard. (In strict
// the dial script has written one: a new fleet waits for its quarantine.)
type Step uint8

// The steps.
const (
	// Nothing: no master lacks a marker, or the clients disagree about the
	// fleet and nobody may write one.
	Nothing Step = iota
	// Again: run the dial script on all masters again, soon, and plan anew.
	Again
	// ToDeclare: the fleet is new. Declare it on each of these, by the
	// connections that the Facts are of, and warn in the log.
	ToDeclare
	// ToAdopt: the fleet is not new, so these have lost their data or replace
	// others. Adopt them.
	ToAdopt
)

// Plan decides what to do about the masters without a marker, and returns their
// indices. Until final, it does not settle for less than the answers of all:
// masters that are not connected yet may show that the fleet is new, and other
// clients may be about to declare it. Nothing is lost by it, for none of these
// masters votes meanwhile; a second is long enough.
//
// A new fleet is one where all N masters, which are N servers fit to be masters,
// have no marker at one and the same instant: each has answered MISSING both
// before and after it. One look is not enough. During a rolling restart each may
// be found empty at another time, and adopted by another client since: whoever
// then declared those that are still empty would let them vote although they
// have only just forgotten their locks. All N losing everything at once looks
// like a new fleet nevertheless; only strict tells that apart.
func (c Config) Plan(facts []Facts, final bool) (Step, []int) {
	if c.Level != Standard {
		return Nothing, nil
	}
	var missing []int
	fit := 0
	for i, f := range facts {
		if !f.Connected || f.MarkerErr != nil {
			continue
		}
		if f.Marker.Verdict == Conflict {
			return Nothing, nil
		}
		first, _ := twins(facts, i)
		if f.Marker.Verdict == Missing && f.Info.RunID != "" && first && refuse(f.Info) == nil {
			missing = append(missing, i)
			if !f.unguarded() {
				fit++
			}
		}
	}
	switch {
	case missing == nil:
		return Nothing, nil
	case fit == c.Masters && fit == len(facts):
		if !atOnce(facts) {
			return Again, nil
		}
		return ToDeclare, missing
	case final:
		return ToAdopt, missing
	default:
		return Again, nil
	}
}

// atOnce reports whether there was an instant at which all of them, which have
// no marker, had none: after each had first said so, and before any was asked
// for the last time.
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

// Answer takes what a script has answered on this connection.
func (f *Facts) Answer(m Marker) {
	switch {
	case m.Verdict != Missing:
		f.missingFrom = drift.Instant{}
	case f.missingFrom.IsZero():
		f.missingFrom = m.Clock.Received
	}
	f.Marker, f.MarkerErr, f.Changed, f.Clock = m, nil, false, drift.Reading{}
}

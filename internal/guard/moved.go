package guard

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redquorum/redquorum/drift"
)

// A fleet that is being moved says so in its markers (To). From then on only clients that take
// part in the move get votes: those that take every lock in both fleets. One master that says
// so speaks for all: no master of the fleet votes for other clients, and they adopt none.

const mostName = 64 // bytes of the name of a move, as of any value in a marker

// CheckMove returns an error if a move cannot have this name.
func CheckMove(name string) error {
	switch n := len(name); {
	case n == 0:
		return errors.New("the name is empty")
	case n > mostName:
		return fmt.Errorf("the name has %d bytes: want 1 to %d", n, mostName)
	case strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return fmt.Errorf("the name is %q: want one without spaces and control characters", name)
	}
	return nil
}

// JoinMove is the configuration of a client that also takes part in this move.
func (c Config) JoinMove(name string) Config {
	if !c.takesPart(name) {
		c.Moves += name + "\n"
	}
	return c
}

// takesPart reports whether the client takes part in a move.
func (c Config) takesPart(name string) bool {
	return slices.Contains(strings.Split(c.Moves, "\n"), name)
}

// MovesAlong reports whether the fleet is being moved, and this client takes part.
func (c Config) MovesAlong(facts []Facts) bool {
	return c.movedTo(facts) == "" && slices.ContainsFunc(facts, func(f Facts) bool { return f.MovedTo != "" })
}

// Elsewhere is where the fleet is being moved if that is not to; "": nowhere.
func Elsewhere(facts []Facts, to string) string {
	for _, f := range facts {
		if f.MovedTo != "" && f.MovedTo != to {
			return f.MovedTo
		}
	}
	return ""
}

// movedTo is the move that keeps this client's masters from voting for it; "": there is
// none.
func (c Config) movedTo(facts []Facts) string {
	for _, f := range facts {
		if f.MovedTo != "" && !c.takesPart(f.MovedTo) {
			return f.MovedTo
		}
	}
	return ""
}

// closeAll takes the vote from all masters if one of them has said that the fleet is being
// moved without this client.
func (c Config) closeAll(facts []Facts, standings []Standing) {
	to := c.movedTo(facts)
	if to == "" || c.Level == Off {
		return
	}
	for i := range standings {
		s := &standings[i]
		switch {
		case s.Vote, s.Why.Cause == Quarantined, s.Why.Cause == NoMarker, s.Why.Cause == Changed && facts[i].MovedTo != "":
			s.Vote, s.Unguarded = false, nil
			s.Why = &AbstainError{Cause: Moved, Value: quote(to)}
		}
	}
}

// planClosing finds the masters that do not say yet that their fleet is being moved: they could
// not be reached, or have lost their data since.
func (c Config) planClosing(facts []Facts) (Plan, bool) {
	to, fleet := "", ""
	for _, f := range facts {
		if f.MovedTo == "" {
			continue
		}
		if to != "" && to != f.MovedTo { // an operator has to settle that
			return Plan{}, false
		}
		to = f.MovedTo
		if f.marked(c) && f.Marker.To != "" {
			fleet = f.Marker.Fleet
		}
	}
	if to == "" || fleet == "" {
		return Plan{}, false
	}
	var open []int
	for i, f := range facts {
		// One that an operator has declared anew is no part of the move.
		if f.marked(c) && f.Marker.To == "" && f.Marker.Fleet == fleet && f.Marker.How != HowForced {
			open = append(open, i)
		}
	}
	return Plan{ToClose, open, to}, open != nil
}

// Closing is how far a fleet is on its way to another one.
type Closing struct {
	Closed []int // masters that say so, by number
	// Done: so many say so that the others alone are no quorum. Left is how long locks that
	// were granted before may still be held; 0: none is.
	Done bool
	Left time.Duration
	// Elsewhere is another move that a master says; "": none does. Then it is not done: who
	// takes part in one of both gets no votes.
	Elsewhere string
}

// ClosingTo says how far the masters are, as of now. Since when a master says so is told
// by its own clock.
func (c Config) ClosingTo(facts []Facts, to string, now drift.Instant) Closing {
	var r Closing
	var since []time.Duration
	for i, f := range facts {
		switch {
		case !f.marked(c) || f.Marker.To == "":
			continue
		case f.Marker.To != to:
			r.Elsewhere = f.Marker.To
			continue
		}
		r.Closed = append(r.Closed, i)
		at, _ := instant(f.Marker.Closed)
		since = append(since, max(0, f.Marker.Clock.Time.Sub(at))+now.MonotonicSub(f.Marker.Clock.Received))
	}
	least := c.Masters - c.need() + 1
	if len(since) < least || r.Elsewhere != "" {
		return r
	}
	slices.Sort(since)
	slices.Reverse(since)
	r.Done, r.Left = true, max(0, c.Quarantine()-since[least-1])
	return r
}

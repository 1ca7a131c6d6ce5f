package moving

import (
	"fmt"

	"github.com/redquorum/redquorum/verification/search"
)

// reached is what some client holds the lock in, whether or not that is a violation.
type reached struct {
	phases       [3]bool // in this phase
	afterClosing bool    // in phase two, in a fleet that is closed
}

// Explore visits all states, until it finds one that violates a property. A configuration
// where nobody gets the lock, in some phase, shows nothing.
func (c Config) Explore(most int) (*search.Result, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	x := newMachine(&c)
	r := search.Run(x, c.MaxStates.Or(most))
	if all := (reached{[3]bool{true, true, true}, true}); x.reached != all {
		r.Missing = fmt.Sprintf("a holder in every phase, and in phase two after the closing: %+v", x.reached)
	}
	return r, nil
}

// Violated says which property a state violates; "" if none.
func (x *machine) Violated(s *state) string {
	holders := 0
	for c := range x.Clients {
		me := &s.clients[c]
		if !x.believes(me) {
			continue
		}
		holders++
		x.reached.phases[me.phase] = true
		x.reached.afterClosing = x.reached.afterClosing || me.phase == 1 && s.closed
		if x.Only == All && me.phase == 0 && s.closed && s.wait == 0 {
			return "a client of phase one holds the lock when the wait is over"
		}
	}
	if holders > 1 && x.Only != Deadlock {
		return "two clients hold the lock"
	}
	if x.Only != Exclusion && x.deadlocked(s) {
		return "two clients wait for what the other holds"
	}
	return ""
}

// deadlocked reports whether each of two clients has a fleet and waits for the one that
// the other has. Each extends what it has for as long as it waits.
func (x *machine) deadlocked(s *state) bool {
	for c := range x.Clients {
		for d := range x.Clients {
			p, q := &s.clients[c].parts, &s.clients[d].parts
			if p[old].state == held && p[fresh].state == waiting && q[fresh].state == held && q[old].state == waiting {
				return true
			}
		}
	}
	return false
}

package model

import "github.com/redquorum/redquorum/verification/search"

// Explore visits all states, until it finds one that violates a property.
func (c Config) Explore(most int) (*search.Result, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	return search.Run(newMachine(&c), c.MaxStates.Or(most)), nil
}

// Violated says which property a state violates; "" if none.
func (x *machine) Violated(s *state) string {
	holders := 0
	for c := range x.Clients {
		if s.client(fPhase, c) != holding {
			continue
		}
		holders++
		if x.Only != Exclusion && x.available(s, c) >= x.Masters/2+1 {
			return "S7: a quorum may give the lock away while it is held"
		}
	}
	if holders > 1 && x.Only != NotFree {
		return "S1: two clients hold the lock"
	}
	return ""
}

// available is how many masters may give the key to a client other than c, or have given it.
func (x *machine) available(s *state, c int) (n int) {
	for m := range x.Masters {
		w := s.masters[m]
		if fQuar.left.get(w) == 0 && fOwner.get(w) != x.token(c, 0) {
			n++
		}
	}
	return n
}

package fencing

import (
	"cmp"
	"slices"

	"github.com/redquorum/redquorum/verification/search"
)

// A state is all that there is at one instant. Equal states are equal values.
type state struct {
	masters  [masters]master
	attempts [maxAttempts]attempt
	highest  uint8 // of the tokens that are complete
	now      uint8 // ticks since the beginning
	losses   uint8 // so far
}

// A master is what it keeps, and what it gave to attempts.
type master struct {
	owner uint8 // the attempt that has the lock, counted from 1; 0: it is free
	fence uint8
	quar  uint8              // ticks of quarantine
	given [maxAttempts]uint8 // to each attempt, in an answer that counts; 0: nothing
	asked uint8              // a bit for each attempt that asked in its current phase
}

// An attempt is what it knows, and what is counted of it.
type attempt struct {
	phase  uint8
	floor  uint8
	began  uint8 // when, if time counts
	before uint8 // the highest token that was complete then
	token  uint8 // while raising, and once it is complete
	stored uint8 // masters that store it, as far as the attempt knows
	strays uint8 // so far
	low    bool  // its token is not above what was complete before
}

const (
	unborn uint8 = iota
	asking
	raising
	complete
	over
)

// key holds all of a master in one number.
func (m master) key() uint64 {
	k := uint64(m.owner)<<8 | uint64(m.fence)
	for _, g := range m.given {
		k = k<<8 | uint64(g)
	}
	return k<<16 | uint64(m.quar)<<8 | uint64(m.asked)
}

// key holds all of an attempt in one number.
func (a attempt) key() uint64 {
	k := uint64(a.phase)
	for _, v := range [...]uint8{a.floor, a.began, a.before, a.token, a.stored, a.strays} {
		k = k<<8 | uint64(v)
	}
	if a.low {
		k |= 1 << 63
	}
	return k
}

func (m master) compare(n master) int { return cmp.Compare(m.key(), n.key()) }

// compare orders the permutations of a state.
func (s *state) compare(t *state) int {
	return cmp.Or(
		slices.CompareFunc(s.attempts[:], t.attempts[:], func(a, b attempt) int {
			return cmp.Compare(a.key(), b.key())
		}),
		slices.CompareFunc(s.masters[:], t.masters[:], master.compare))
}

// Canonical returns one representative of all states that differ from s only by a permutation
// of the masters and of the attempts.
func (x *machine) Canonical(s *state) state {
	best := *s
	slices.SortFunc(best.masters[:], master.compare)
	for _, p := range x.perms {
		n := permuted(s, p)
		slices.SortFunc(n.masters[:], master.compare)
		if n.compare(&best) < 0 {
			best = n
		}
	}
	return best
}

// permuted gives attempt a of s the number p[a].
func permuted(s *state, p []int) state {
	n := *s
	for a, to := range p {
		n.attempts[to] = s.attempts[a]
	}
	for i := range s.masters {
		m, to := &s.masters[i], &n.masters[i]
		to.asked = 0
		for a, other := range p {
			to.asked |= m.asked >> a & 1 << other
			to.given[other] = m.given[a]
		}
		if m.owner != 0 {
			to.owner = uint8(1 + p[m.owner-1])
		}
	}
	return n
}

// reached is what the search has seen so far.
type reached struct {
	all    bool // every attempt has its token in some state
	raised bool // a master has raised its fence in the second round
}

// Explore visits all states, until it finds one that violates a property. A configuration
// shows nothing if its attempts never all have their tokens, or if no fence is raised.
func (c Config) Explore(most int) (*search.Result, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	x := newMachine(&c)
	r := search.Run(x, c.MaxStates.Or(most))
	switch {
	case !x.reached.all:
		r.Missing = "tokens of all attempts"
	case !x.reached.raised:
		r.Missing = "a fence that is raised"
	}
	return r, nil
}

// Violated says which property a state violates; "" if none.
func (x *machine) Violated(s *state) string {
	all := true
	for a := range x.Attempts {
		me := &s.attempts[a]
		all = all && me.phase == complete
		switch {
		case me.phase != complete:
		case me.low:
			return "S8: a token is not above one that was complete before"
		case slices.ContainsFunc(s.attempts[:a], func(other attempt) bool {
			return other.phase == complete && other.token == me.token
		}):
			return "S8: two attempts have the same token"
		}
	}
	x.reached.all = x.reached.all || all
	return ""
}

package model

import "time"

// A Result is what an exploration found.
type Result struct {
	Config  *Config
	States  int // that were visited
	Depth   int // steps to the farthest of them
	Bytes   int // that the states took
	Elapsed time.Duration
	Limited bool   // MaxStates ended it: then nothing is proved
	Trace   *Trace // the shortest violation; nil: there is none among the states visited
}

// Holds reports whether all states were visited and none violates a property.
func (r *Result) Holds() bool { return r.Trace == nil && !r.Limited }

// Explore visits all states breadth first, until it finds one that violates a
// property. The trace that leads there is a shortest one. Memory grows with the
// states: 60 bytes each and less, with three masters.
func Explore(c Config) (*Result, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if c.MaxStates == 0 {
		c.MaxStates = DefaultMaxStates
	}
	began := time.Now()
	x := newMachine(&c)
	st := newStore(c.Masters)
	r := &Result{Config: &c}
	st.add(&state{}, 0)
	bad := -1
	visiting := 0
	x.emit = func(s state, _ action) {
		canonical := x.canonical(&s)
		if st.add(&canonical, visiting) && bad < 0 && x.violated(&canonical) != "" {
			bad = st.n - 1
		}
	}
	for levelEnd := 1; visiting < st.n && bad < 0; visiting++ {
		if visiting == levelEnd {
			levelEnd = st.n
			r.Depth++
		}
		if st.n >= c.MaxStates {
			r.Limited = true
			break
		}
		s := st.state(visiting)
		x.steps(&s)
	}
	if bad >= 0 {
		r.Depth++
		r.Trace = x.trace(st, bad)
	}
	r.States, r.Bytes, r.Elapsed = st.n, st.bytes(), time.Since(began)
	return r, nil
}

// violated says which property a state violates; "" if none.
func (x *machine) violated(s *state) string {
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

// available is how many masters may give, or have given, the key to another
// than its holder.
func (x *machine) available(s *state, c int) (n int) {
	for m := range x.Masters {
		w := s.masters[m]
		if fQuar.left.get(w) == 0 && fOwner.get(w) != x.token(c, 0) {
			n++
		}
	}
	return n
}

// Package search visits all states of a model breadth first and checks each of them. It knows
// nothing of locks: a model defines the states, the steps and the checks.
package search

import "time"

// DefaultMaxStates keeps a search below 4 GB.
const DefaultMaxStates = 60_000_000

// A Model is one configuration of a model. S is a state; its zero value is the first. A is a
// step from a state to the next.
type Model[S comparable, A interface{ IsTick() bool }] interface {
	// Steps emits all states that can follow s.
	Steps(s *S, emit func(S, A))
	// Canonical returns one representative of all states that differ from s only by a
	// permutation of the masters and of the clients.
	Canonical(s *S) S
	// Violated says which property a state violates; "" if none.
	Violated(s *S) string

	// The rest is for traces. Describe is called for each step in order, from the beginning.

	// Describe says what a step from s does.
	Describe(s *S, did A) string
	// MasterNames names the masters, and Contents says what each of them keeps.
	MasterNames() []string
	Contents(s *S) []string
	// Believers says which clients believe that they hold the lock.
	Believers(s *S) string
}

// A Result is what a search found.
type Result struct {
	States  int // that were visited
	Depth   int // steps to the farthest of them
	Bytes   int // that the states took
	Elapsed time.Duration
	Limited bool   // the limit of states ended the search: then nothing is proved
	Missing string // what some state should show, but none does; "": nothing
	Trace   *Trace // the shortest violation; nil: there is none among the states visited
}

// Holds reports whether all states were visited, none violates a property, and nothing is missing.
func (r *Result) Holds() bool { return r.Trace == nil && !r.Limited && r.Missing == "" }

// Verdict says in a few words what was found.
func (r *Result) Verdict() string {
	switch {
	case r.Trace != nil:
		return "violated: " + r.Trace.Violated
	case r.Limited:
		return "not all states visited"
	case r.Missing != "":
		return "never seen: " + r.Missing
	default:
		return "holds"
	}
}

// Run visits all states breadth first. It stops when it finds a state that violates a
// property, or when the number of states reaches most. The trace to a violation is a
// shortest one. A state takes its own size and some ten bytes.
func Run[S comparable, A interface{ IsTick() bool }](x Model[S, A], most int) *Result {
	began := time.Now()
	st := newStore[S]()
	r := &Result{}
	var first S
	st.add(first, 0)
	visiting, bad := 0, -1
	emit := func(s S, _ A) {
		s = x.Canonical(&s)
		if st.add(s, visiting) && x.Violated(&s) != "" && bad < 0 {
			bad = st.n - 1
		}
	}
	for levelEnd := 1; visiting < st.n && bad < 0; visiting++ {
		if visiting == levelEnd {
			levelEnd = st.n
			r.Depth++
		}
		if st.n >= most {
			r.Limited = true
			break
		}
		x.Steps(st.state(visiting), emit)
	}
	if bad >= 0 {
		r.Depth++
		r.Trace = trace(x, st, bad)
	}
	r.States, r.Bytes, r.Elapsed = st.n, st.bytes(), time.Since(began)
	return r
}

// Permutations returns all orders of 0 to n-1 that leave the first fixed numbers where they
// are, without the identity.
func Permutations(n, fixed int) [][]int {
	var all [][]int
	var extend func(head []int)
	extend = func(head []int) {
		if len(head) == n {
			all = append(all, append([]int(nil), head...))
			return
		}
	next:
		for i := range n {
			if len(head) < fixed && i != len(head) {
				continue
			}
			for _, j := range head {
				if i == j {
					continue next
				}
			}
			extend(append(head, i))
		}
	}
	extend(nil)
	return all[1:]
}

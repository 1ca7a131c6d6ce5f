package search

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// A Trace is the steps that lead to a violation.
type Trace struct {
	Violated string
	Masters  []string // their names
	Steps    []Step
}

// A Step is what was done, and what it led to.
type Step struct {
	Time     int // ticks since the beginning
	Did      string
	Masters  []string // what each of them keeps
	Believes string   // which clients believe that they hold the lock
}

// trace repeats the steps to a state. Masters and clients keep their names in it, which
// canonical states do not.
func trace[S comparable, A interface{ IsTick() bool }](x Model[S, A], st *store[S], to int) *Trace {
	var way []int
	for i := to; i != 0; i = st.parent(i) {
		way = append(way, i)
	}
	var s S
	t := &Trace{Masters: x.MasterNames(), Steps: []Step{{Did: "-", Masters: x.Contents(&s), Believes: x.Believers(&s)}}}
	now := 0
	for i := len(way) - 1; i >= 0; i-- {
		did, after := stepTo(x, &s, st.state(way[i]))
		if did.IsTick() {
			now++
		}
		t.Steps = append(t.Steps, Step{now, x.Describe(&s, did), x.Contents(&after), x.Believers(&after)})
		s = after
	}
	t.Violated = x.Violated(&s)
	return t
}

// stepTo finds the step from s to a state whose canonical form is the given one.
func stepTo[S comparable, A interface{ IsTick() bool }](x Model[S, A], s, canonical *S) (did A, after S) {
	found := false
	x.Steps(s, func(n S, a A) {
		if !found && x.Canonical(&n) == *canonical {
			found, did, after = true, a, n
		}
	})
	if !found {
		panic("model: a state cannot be reached from its parent")
	}
	return did, after
}

// Print writes the trace, one line for each step, and what it violates.
func (t *Trace) Print(w io.Writer) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tw, "tick\tdone\t%s\tholds the lock, it believes\n", strings.Join(t.Masters, "\t"))
	for _, s := range t.Steps {
		fmt.Fprintf(tw, "%d\t%s\t%s\t%s\n", s.Time, s.Did, strings.Join(s.Masters, "\t"), s.Believes)
	}
	_ = tw.Flush() // its errors are those of w, which no print here checks
	fmt.Fprintln(w, t.Violated)
}

package moving

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// A Result is what an exploration found.
type Result struct {
	Config  *Config
	States  int // that were visited
	Depth   int // steps to the farthest of them
	Elapsed time.Duration
	Limited bool   // MaxStates ended it: then nothing is proved
	Trace   *Trace // the shortest violation; nil: there is none among the states visited
	// Reached says what the clients came to do, whether or not that is a violation.
	Reached Reached
}

// Reached is what some client holds the lock in.
type Reached struct {
	Phases       [3]bool // in this phase
	AfterClosing bool    // in phase two, in a fleet that is closed
}

// Holds reports whether all states were visited and none violates a property.
func (r *Result) Holds() bool { return r.Trace == nil && !r.Limited }

// Explore visits all states breadth first, until it finds one that violates a property.
// The trace that leads there is a shortest one. Memory grows with the states: some 200
// bytes each.
func Explore(c Config) (*Result, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if c.MaxStates == 0 {
		c.MaxStates = DefaultMaxStates
	}
	began := time.Now()
	x := newMachine(&c)
	r := &Result{Config: &c}
	states, parents := []state{{}}, []uint32{0}
	known := map[state]struct{}{{}: {}}
	visiting, bad := 0, -1
	x.emit = func(s state, _ action) {
		s = x.canonical(&s)
		if _, ok := known[s]; ok {
			return
		}
		known[s] = struct{}{}
		states, parents = append(states, s), append(parents, uint32(visiting))
		x.note(&r.Reached, &s)
		if bad < 0 && x.violated(&s) != "" {
			bad = len(states) - 1
		}
	}
	for levelEnd := 1; visiting < len(states) && bad < 0; visiting++ {
		if visiting == levelEnd {
			levelEnd = len(states)
			r.Depth++
		}
		if len(states) >= c.MaxStates {
			r.Limited = true
			break
		}
		s := states[visiting]
		x.steps(&s)
	}
	if bad >= 0 {
		r.Depth++
		var way []state
		for i := bad; i != 0; i = int(parents[i]) {
			way = append(way, states[i])
		}
		r.Trace = x.trace(way)
	}
	r.States, r.Elapsed = len(states), time.Since(began)
	return r, nil
}

func (x *machine) note(r *Reached, s *state) {
	for c := range x.Clients {
		if me := &s.clients[c]; x.believes(me) {
			r.Phases[me.phase] = true
			r.AfterClosing = r.AfterClosing || me.phase == 1 && s.closed
		}
	}
}

// violated says which property a state violates; "" if none.
func (x *machine) violated(s *state) string {
	holders := 0
	for c := range x.Clients {
		me := &s.clients[c]
		if !x.believes(me) {
			continue
		}
		holders++
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

// A Trace is a way to a violation, a line a step.
type Trace struct {
	Violated string
	Steps    []Step
}

// A Step is what was done, and what it led to.
type Step struct {
	Time     int // ticks since the beginning
	Did      string
	Masters  []string // what each of them keeps: those of the old fleet, then those of the new one
	Believes string   // who holds the lock, as far as they know
}

// trace goes a way once more, last state first, now with masters and clients under names
// that stay theirs.
func (x *machine) trace(way []state) *Trace {
	var s state
	t := &Trace{Steps: []Step{{Did: "-", Masters: x.contents(&s), Believes: "nobody"}}}
	now := 0
	for i := len(way) - 1; i >= 0; i-- {
		did, after := x.stepTo(&s, way[i])
		if did.kind == actTick {
			now++
		}
		t.Steps = append(t.Steps, Step{now, x.describe(&s, did), x.contents(&after), x.believers(&after)})
		s = after
	}
	t.Violated = x.violated(&s)
	return t
}

// stepTo finds the step from s to a state that is the given one but for a permutation.
func (x *machine) stepTo(s *state, canonical state) (did action, after state) {
	found := false
	x.emit = func(n state, a action) {
		if !found && x.canonical(&n) == canonical {
			found, did, after = true, a, n
		}
	}
	x.steps(s)
	if !found {
		panic("moving: a state cannot be reached from its parent")
	}
	return did, after
}

func clientName(c int) string { return string(rune('A' + c)) }

func (x *machine) masterName(f, i int) string { return fmt.Sprint([...]string{"o", "n"}[f], i+1) }

// contents are what the masters keep: whose the key is and the ticks left to it, whether
// the fleet is closed, and the ticks of quarantine.
func (x *machine) contents(s *state) (all []string) {
	for f := range s.masters {
		for i := range x.masters(f) {
			m := &s.masters[f][i]
			text := "-"
			if m.owner != 0 {
				text = fmt.Sprintf("%s:%d", clientName(int(m.owner)-1), m.left)
			}
			if m.mark {
				text += " closed"
			}
			if m.quar > 0 {
				text += fmt.Sprintf(" (quarantine %d)", m.quar)
			}
			all = append(all, text)
		}
	}
	return all
}

// believers are the holders, with their phase.
func (x *machine) believers(s *state) string {
	var all []string
	for c := range x.Clients {
		if me := &s.clients[c]; x.believes(me) {
			all = append(all, fmt.Sprintf("%s in phase %d", clientName(c), me.phase+1))
		}
	}
	if all == nil {
		return "nobody"
	}
	return strings.Join(all, ", ")
}

// describe says what an action in a state is.
func (x *machine) describe(s *state, a action) string {
	c, m, f := clientName(int(a.client)), x.masterName(int(a.fleet), int(a.master)), [...]string{"the old fleet", "the new fleet"}[a.fleet]
	switch a.kind {
	case actTick:
		return "a tick"
	case actRestart:
		return m + " restarts empty"
	case actMark:
		return m + " is told that the fleet is closed"
	case actEnter:
		return fmt.Sprintf("%s enters phase %d", c, s.clients[a.client].phase+2)
	case actAsk:
		return c + " asks " + f
	case actAskAgain:
		return c + " asks " + f + " again"
	case actExecute:
		return m + " executes SET " + c
	case actGranted:
		return c + " has " + f
	case actGiveUp:
		return c + " gives up, and gives back what it has"
	case actExtend:
		var on []string
		for i := range x.masters(int(a.fleet)) {
			if a.subset&(1<<i) != 0 {
				on = append(on, x.masterName(int(a.fleet), i))
			}
		}
		return c + " extends on " + strings.Join(on, ", ")
	default:
		return c + " releases"
	}
}

// Verdict says in a few words what was found.
func (r *Result) Verdict() string {
	switch {
	case r.Trace != nil:
		return "violated: " + r.Trace.Violated
	case r.Limited:
		return "not all states visited"
	default:
		return "holds"
	}
}

// PrintHeader and Print write a table in Markdown, a row an exploration.
func PrintHeader(w io.Writer) {
	fmt.Fprintln(w, "| configuration | bounds | states | depth | time | result |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|")
}

// Print writes one row.
func (r *Result) Print(w io.Writer) {
	fmt.Fprintf(w, "| %s | %s | %s | %d | %v | %s |\n", r.Config.Name, r.Config.Summary(),
		thousands(r.States), r.Depth, r.Elapsed.Round(10*time.Millisecond), r.Verdict())
}

func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Print writes the way to the violation, a line a step.
func (t *Trace) Print(w io.Writer, c *Config) {
	x := machine{Config: c}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(tw, "tick\tdone\t")
	for f := range 2 {
		for i := range c.masters(f) {
			fmt.Fprintf(tw, "%s\t", x.masterName(f, i))
		}
	}
	fmt.Fprintln(tw, "holds the lock, it believes")
	for _, s := range t.Steps {
		fmt.Fprintf(tw, "%d\t%s\t%s\t%s\n", s.Time, s.Did, strings.Join(s.Masters, "\t"), s.Believes)
	}
	_ = tw.Flush() // its errors are those of w, as with every print here
	fmt.Fprintln(w, t.Violated)
}

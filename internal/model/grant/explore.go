package grant

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
	Reached Reached
}

// Reached says by what votes a client came to hold the lock.
type Reached struct {
	BySet, ByGrant, ByBoth bool
}

// Holds reports whether all states were visited and none violates a property.
func (r *Result) Holds() bool { return r.Trace == nil && !r.Limited }

// Explore visits all states breadth first, until it finds one that violates a property.
// The trace that leads there is a shortest one. Memory grows with the states: some 400
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
	x.emit = func(n state, a action) {
		if a.kind == actHold {
			x.note(&r.Reached, &states[visiting], int(a.client))
		}
		n = x.canonical(&n)
		if _, ok := known[n]; ok {
			return
		}
		known[n] = struct{}{}
		states, parents = append(states, n), append(parents, uint32(visiting))
		if bad < 0 && x.violated(&n) != "" {
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

// note says by what an attempt succeeds.
func (x *machine) note(r *Reached, s *state, c int) {
	var votes [3]int
	for i := range x.Masters {
		votes[s.masters[i].sides[c].vote]++
	}
	r.BySet = r.BySet || votes[bySet] >= x.need()
	r.ByGrant = r.ByGrant || votes[byGrant] >= x.need()
	r.ByBoth = r.ByBoth || votes[bySet] < x.need() && votes[byGrant] < x.need()
}

// violated says which property a state violates; "" if none.
func (x *machine) violated(s *state) string {
	checks := func(p Property) bool { return x.Only == All || x.Only == p }
	holders := 0
	for c := range x.Clients {
		if me := &s.clients[c]; me.phase == holding {
			holders++
			if checks(GivenUp) && me.gaveUp {
				return "a client that gave up holds the lock"
			}
			if checks(NotFree) && x.free(s, c) >= x.need() {
				return "a quorum may give away a lock that is held"
			}
		}
	}
	switch {
	case checks(Exclusion) && holders > 1:
		return "two clients hold the lock"
	case checks(Rising) && s.notAbove:
		return "a fencing token is not above an earlier one"
	case checks(Expires) && x.stays(s):
		return "a key does not expire within the TTL"
	default:
		return ""
	}
}

// free is how many masters may give a lock to others than its holder.
func (x *machine) free(s *state, holder int) (n int) {
	for i := range x.Masters {
		m := &s.masters[i]
		if token := newToken(holder, 0); m.quar == 0 && m.owner != token && m.lease != token {
			n++
		}
	}
	return n
}

// stays reports whether a master has a key for longer than the TTL.
func (x *machine) stays(s *state) bool {
	for i := range x.Masters {
		if int(s.masters[i].left) > x.TTL {
			return true
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
	Masters  []string // what each of them keeps
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
		panic("grant: a state cannot be reached from its parent")
	}
	return did, after
}

func clientName(c int) string { return string(rune('A' + c)) }

// tokenName is A for the token that client A uses now, and A' for the one of before.
func tokenName(token uint8) string {
	return clientName(tokenClient(token)) + strings.Repeat("'", tokenAge(token))
}

// contents are what the masters keep: whose the key is and the ticks left to it, whose
// the lease record, the fence, and the ticks of quarantine.
func (x *machine) contents(s *state) (all []string) {
	for i := range x.Masters {
		m := &s.masters[i]
		text := "-"
		switch {
		case m.left == never:
			text = tokenName(m.owner) + " for ever"
		case m.owner != 0:
			text = fmt.Sprintf("%s:%d", tokenName(m.owner), m.left)
		}
		if m.lease != 0 && m.lease != m.owner {
			text += fmt.Sprintf(" (lease %s:%d)", tokenName(m.lease), m.leaseLeft)
		}
		if x.Fencing {
			text += fmt.Sprintf(" #%d", m.fence)
		}
		if m.quar > 0 {
			text += fmt.Sprintf(" (quarantine %d)", m.quar)
		}
		all = append(all, text)
	}
	return all
}

// believers are the holders, for how many ticks, and with which fencing token.
func (x *machine) believers(s *state) string {
	var all []string
	for c := range x.Clients {
		if me := &s.clients[c]; me.phase == holding {
			text := fmt.Sprintf("%s for %d", clientName(c), me.timer)
			if x.Fencing {
				text += fmt.Sprintf(" #%d", me.fence)
			}
			all = append(all, text)
		}
	}
	if all == nil {
		return "nobody"
	}
	return strings.Join(all, ", ")
}

// describe says what an action in a state is.
func (x *machine) describe(s *state, a action) string {
	c, m, token := clientName(int(a.client)), fmt.Sprint("m", a.master+1), newToken(int(a.client), int(a.age))
	switch a.kind {
	case actTick:
		var gain []string
		for i := range x.Masters {
			if a.fast>>i&1 == 1 {
				gain = append(gain, fmt.Sprint("m", i+1))
			}
		}
		if gain != nil {
			return "a tick, two for " + strings.Join(gain, ", ")
		}
		return "a tick"
	case actRestart:
		return m + " restarts empty"
	case actJump:
		return m + " forgets the key by a jump of its clock"
	case actAsk:
		return c + " waits, and asks all masters"
	case actSet:
		return fmt.Sprintf("%s executes SET %s", m, tokenName(token))
	case actGrant:
		return fmt.Sprintf("%s executes %s's grant to %s", m, tokenName(token), tokenName(a.token))
	case actHear:
		return fmt.Sprintf("%s hears of a grant to %s on %s", c, tokenName(token), m)
	case actHold:
		return c + " has the lock"
	case actGiveUp:
		return c + " gives up"
	case actRelease:
		return c + " releases"
	case actReleaseTo:
		return fmt.Sprintf("%s releases to %s", c, tokenName(a.token))
	case actDelete:
		return fmt.Sprintf("%s executes the release of %s", m, tokenName(a.token))
	case actRefresh:
		return c + " refreshes its place"
	case actAskAgain:
		return c + " rolls back, and asks again with the same token"
	default:
		return fmt.Sprintf("%s executes the rollback of %s", m, c)
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
func (t *Trace) Print(w io.Writer) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(tw, "tick\tdone\t")
	for i := range t.Steps[0].Masters {
		fmt.Fprintf(tw, "m%d\t", i+1)
	}
	fmt.Fprintln(tw, "holds the lock, it believes")
	for _, s := range t.Steps {
		fmt.Fprintf(tw, "%d\t%s\t%s\t%s\n", s.Time, s.Did, strings.Join(s.Masters, "\t"), s.Believes)
	}
	_ = tw.Flush() // its errors are those of w, as with every print here
	fmt.Fprintln(w, t.Violated)
}

package model

import (
	"fmt"
	"strings"
)

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

// trace goes the way to a state once more, now with the masters and clients
// under names that stay theirs.
func (x *machine) trace(st *store, to int) *Trace {
	var way []int
	for i := to; i != 0; i = st.parent(i) {
		way = append(way, i)
	}
	var s state
	t := &Trace{Steps: []Step{{Did: "-", Masters: x.contents(&s, nil), Believes: "nobody"}}}
	attempts := make([]int, x.Clients)
	now := 0
	for i := len(way) - 1; i >= 0; i-- {
		did, after := x.stepTo(&s, st.state(way[i]))
		if did.kind == actTick {
			now++
		}
		if did.kind == actStart {
			attempts[did.client]++
		}
		t.Steps = append(t.Steps, Step{
			Time:     now,
			Did:      x.describe(&s, did, attempts),
			Masters:  x.contents(&after, attempts),
			Believes: x.believers(&after),
		})
		s = after
	}
	t.Violated = x.violated(&s)
	return t
}

// stepTo finds the step from s to a state that is the given one but for a
// permutation.
func (x *machine) stepTo(s *state, canonical state) (did action, after state) {
	found := false
	x.emit = func(n state, a action) {
		if !found && x.canonical(&n) == canonical {
			found, did, after = true, a, n
		}
	}
	x.steps(s)
	if !found {
		panic("model: a state cannot be reached from its parent")
	}
	return did, after
}

func clientName(c int) string { return string(rune('A' + c)) }

func masterName(m int) string { return fmt.Sprint("m", m+1) }

// tokenName is a client and the number of its attempt.
func (x *machine) tokenName(token int, attempts []int) string {
	c := tokenClient(token)
	if x.has(OneToken) {
		return clientName(c)
	}
	return fmt.Sprint(clientName(c), attempts[c]-tokenAge(token))
}

// contents are what the masters keep: the owner and the ticks left to the key,
// and the ticks of quarantine.
func (x *machine) contents(s *state, attempts []int) []string {
	all := make([]string, x.Masters)
	for m := range all {
		w := s.masters[m]
		all[m] = "-"
		if owner := fOwner.get(w); owner != 0 {
			all[m] = fmt.Sprintf("%s:%d", x.tokenName(owner, attempts), fKey.left.get(w))
		}
		if q := fQuar.left.get(w); q > 0 {
			all[m] += fmt.Sprintf(" (quarantine %d)", q)
		}
	}
	return all
}

// believers are the holders, with their validity.
func (x *machine) believers(s *state) string {
	var all []string
	for c := range x.Clients {
		if s.client(fPhase, c) == holding {
			all = append(all, fmt.Sprintf("%s for %d", clientName(c), s.client(fLeft, c)))
		}
	}
	if all == nil {
		return "nobody"
	}
	return strings.Join(all, ", ")
}

// describe says what an action in a state is.
func (x *machine) describe(s *state, a action, attempts []int) string {
	c, m := clientName(int(a.client)), masterName(int(a.master))
	w := s.masters[a.master]
	switch a.kind {
	case actTick:
		return "a tick" + x.ratesText(a.rates)
	case actRestart:
		return m + " restarts empty"
	case actRestartWithData:
		return m + " restarts with its data"
	case actStart:
		return fmt.Sprintf("%s asks all masters (attempt %d)", c, attempts[a.client])
	case actGrant:
		return c + " is granted the lock"
	case actGiveUp:
		return c + " gives up and rolls back"
	case actRelease:
		return c + " releases"
	case actExtend:
		return c + " asks all masters to extend"
	case actExtended:
		return c + " has its hold extended"
	case actGiveUpExtension:
		return c + " gives the extension up"
	case actExecute, actLose, actBreak:
		cmd := x.commandText(queueHead(x.queue[a.client].get(w)), int(a.client), attempts)
		switch a.kind {
		case actLose:
			return cmd + " to " + m + " is lost"
		case actBreak:
			return c + "'s connection to " + m + " breaks and leaves " + cmd + " behind"
		}
		return m + " executes " + cmd
	default:
		cmd := x.commandText(command(x.stray[a.client].get(w)), int(a.client), attempts)
		if a.kind == actLoseStray {
			return "the straggler " + cmd + " to " + m + " is lost"
		}
		return m + " executes the straggler " + cmd
	}
}

func (x *machine) commandText(cmd command, c int, attempts []int) string {
	verb := [...]string{"?", "SET", "EXTEND", "RELEASE"}[cmd.verb()]
	return verb + " " + x.tokenName(newToken(c, cmd.age()), attempts)
}

func (x *machine) ratesText(rates uint16) string {
	var all []string
	for m := range x.Masters {
		switch rates >> (2 * m) & 3 {
		case rateFast:
			all = append(all, masterName(m)+" fast")
		case rateSlow:
			all = append(all, masterName(m)+" slow")
		}
	}
	if all == nil {
		return ""
	}
	return " (" + strings.Join(all, ", ") + ")"
}

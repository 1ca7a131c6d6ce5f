package moving

import (
	"fmt"
	"strings"

	"github.com/redquorum/redquorum/verification/search"
)

func clientName(c int) string { return string(rune('A' + c)) }

func (x *machine) masterName(f, i int) string { return fmt.Sprint([...]string{"o", "n"}[f], i+1) }

// MasterNames are the masters' names, those of the old fleet first.
func (x *machine) MasterNames() (all []string) {
	for f := range 2 {
		for i := range x.masters(f) {
			all = append(all, x.masterName(f, i))
		}
	}
	return all
}

// Contents are what the masters keep: whose the key is and the ticks left to it, whether
// the fleet is closed, and the ticks of quarantine.
func (x *machine) Contents(s *state) (all []string) {
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

// Believers are the holders, with their phase.
func (x *machine) Believers(s *state) string {
	var all []string
	for c := range x.Clients {
		if me := &s.clients[c]; x.believes(me) {
			all = append(all, fmt.Sprintf("%s in phase %d", clientName(c), me.phase+1))
		}
	}
	return search.ListOr("nobody", all)
}

// Describe says what an action in a state is.
func (x *machine) Describe(s *state, a action) string {
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

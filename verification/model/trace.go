package model

import (
	"fmt"
	"strings"

	"github.com/redquorum/redquorum/verification/search"
)

func clientName(c int) string { return string(rune('A' + c)) }

func masterName(m int) string { return fmt.Sprint("m", m+1) }

// MasterNames are the masters' names.
func (x *machine) MasterNames() (all []string) {
	for m := range x.Masters {
		all = append(all, masterName(m))
	}
	return all
}

// tokenName is a client and the number of its attempt.
func (x *machine) tokenName(token int) string {
	c := tokenClient(token)
	if x.has(OneToken) {
		return clientName(c)
	}
	return fmt.Sprint(clientName(c), x.attempts[c]-tokenAge(token))
}

// Contents are what the masters keep: the owner and the ticks left to the key,
// and the ticks of quarantine.
func (x *machine) Contents(s *state) []string {
	all := make([]string, x.Masters)
	for m := range all {
		w := s.masters[m]
		all[m] = "-"
		if owner := fOwner.get(w); owner != 0 {
			all[m] = fmt.Sprintf("%s:%d", x.tokenName(owner), fKey.left.get(w))
		}
		if q := fQuar.left.get(w); q > 0 {
			all[m] += fmt.Sprintf(" (quarantine %d)", q)
		}
	}
	return all
}

// Believers are the holders, with their validity.
func (x *machine) Believers(s *state) string {
	var all []string
	for c := range x.Clients {
		if s.client(fPhase, c) == holding {
			all = append(all, fmt.Sprintf("%s for %d", clientName(c), s.client(fLeft, c)))
		}
	}
	return search.ListOr("nobody", all)
}

// Describe says what an action does in a state. It counts the attempts of each client,
// because tokens are named after them.
func (x *machine) Describe(s *state, a action) string {
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
		x.attempts[a.client]++
		return fmt.Sprintf("%s asks all masters (attempt %d)", c, x.attempts[a.client])
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
		cmd := x.commandText(queueHead(x.queue[a.client].get(w)), int(a.client))
		switch a.kind {
		case actLose:
			return cmd + " to " + m + " is lost"
		case actBreak:
			return c + "'s connection to " + m + " breaks and leaves " + cmd + " behind"
		}
		return m + " executes " + cmd
	default:
		cmd := x.commandText(command(x.stray[a.client].get(w)), int(a.client))
		if a.kind == actLoseStray {
			return "the straggler " + cmd + " to " + m + " is lost"
		}
		return m + " executes the straggler " + cmd
	}
}

func (x *machine) commandText(cmd command, c int) string {
	verb := [...]string{"?", "SET", "EXTEND", "RELEASE"}[cmd.verb()]
	return verb + " " + x.tokenName(newToken(c, cmd.age()))
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

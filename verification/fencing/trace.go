package fencing

import (
	"fmt"

	"github.com/redquorum/redquorum/verification/search"
)

func attemptName(a int) string { return string(rune('A' + a)) }

// MasterNames are the masters' names.
func (x *machine) MasterNames() (all []string) {
	for i := range masters {
		all = append(all, fmt.Sprint("m", i+1))
	}
	return all
}

// Contents are what the masters keep: the owner of the lock, the fence and the ticks of
// quarantine.
func (x *machine) Contents(s *state) (all []string) {
	for _, m := range s.masters {
		owner := "-"
		if m.owner != 0 {
			owner = attemptName(int(m.owner) - 1)
		}
		text := fmt.Sprintf("%s fence %d", owner, m.fence)
		if m.quar > 0 {
			text += fmt.Sprintf(" (quarantine %d)", m.quar)
		}
		all = append(all, text)
	}
	return all
}

// Believers are the attempts that have their token.
func (x *machine) Believers(s *state) string {
	var all []string
	for a := range x.Attempts {
		if me := &s.attempts[a]; me.phase == complete {
			all = append(all, fmt.Sprintf("%s with token %d", attemptName(a), me.token))
		}
	}
	return search.ListOr("nobody", all)
}

// Describe says what an action does.
func (x *machine) Describe(s *state, a action) string {
	name, m := attemptName(int(a.attempt)), fmt.Sprint("m", a.master+1)
	text := ""
	switch a.kind {
	case actTick:
		return "a tick"
	case actEarlier:
		return fmt.Sprint("earlier attempts: masters ahead ", a.number)
	case actLose:
		return m + " loses all it has"
	case actBegin:
		return fmt.Sprintf("%s begins with floor %d", name, a.number)
	case actCount:
		return name + " has a quorum of grants"
	case actComplete:
		return name + " has its token"
	case actGiveUp:
		return name + " gives up"
	case actSetAgain:
		return m + " sets the lock of " + name + " again"
	case actAcquire:
		text = m + " executes ACQUIRE of " + name
	case actStray:
		text = m + " executes a stray ACQUIRE of " + name
	case actRaise:
		text = m + " executes RAISE of " + name
	}
	if a.expired {
		text += ", expired"
	}
	if a.lost {
		text += ", answer lost"
	}
	return text
}

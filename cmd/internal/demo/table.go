package demo

import (
	"fmt"
	"strings"

	"github.com/redquorum/redquorum/cmd/internal/term"
)

// masters prints one row for each master.
func (s *Screen) masters(masters []Master) {
	address, state := addressWidth(masters), 0
	for _, m := range masters {
		state = max(state, term.Width("✓ "+m.State))
	}
	s.line("%s", s.Dim("      "+term.Padded("master", address)+"  state"))
	for i, m := range masters {
		detail := m.Cause
		if m.State == seenUp && m.RoundTrip > 0 {
			detail = "answers in " + span(m.RoundTrip.duration())
		}
		lead := fmt.Sprintf("  %2d  %s  %s  ", i+1, term.Padded(m.Address, address), s.state(&m, state))
		s.paragraph(lead, 10+address+state, detail)
	}
}

func addressWidth(masters []Master) (width int) {
	for _, m := range masters {
		width = max(width, term.Width(m.Address))
	}
	return width
}

// strip prints the states of all masters in one line, or in as few as possible.
func (s *Screen) strip(masters []Master, quorum int) {
	up, line, used := 0, "   ", 3
	add := func(text string, width int) {
		if used+width > s.columns() {
			s.line("%s", strings.TrimRight(line, " "))
			line, used = "   ", 3
		}
		line, used = line+text, used+width
	}
	for i, m := range masters {
		if m.State == seenUp {
			up++
		}
		add(fmt.Sprintf("%3d %s", i+1, s.state(&m, 7)), 4+max(7, term.Width("✓ "+m.State)))
	}
	verdict := s.Green("a quorum")
	if up < quorum {
		verdict = s.Red("no quorum")
	}
	add(fmt.Sprintf("   %d of %d: %s", up, len(masters), verdict), len("   5 of 5: no quorum"))
	s.line("%s", line)
}

// state returns the state of a master, at least width columns wide.
func (s *Screen) state(m *Master, width int) string {
	if m.State == seenUp {
		return s.Green(term.Padded("✓ "+m.State, width))
	}
	return s.Red(term.Padded("✗ "+m.State, width))
}

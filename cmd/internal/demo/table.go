package demo

import (
	"fmt"
	"strings"

	"github.com/redquorum/redquorum/cmd/internal/stage"
	"github.com/redquorum/redquorum/cmd/internal/term"
)

// masters prints one row a master.
func (s *Screen) masters(masters []Master) {
	address, state := addressWidth(masters), 0
	for _, m := range masters {
		state = max(state, term.Width("✓ "+m.State))
	}
	s.line("%s", s.Dim("      "+term.Padded("master", address)+"  state"))
	for i, m := range masters {
		detail := m.Cause
		if m.State == stage.SeenUp && m.RoundTrip > 0 {
			detail = "answers in " + span(m.RoundTrip.duration())
		}
		row := fmt.Sprintf("  %2d  %s  %s", i+1, term.Padded(m.Address, address), s.state(&m, state))
		s.line("%s", strings.TrimRight(row+"  "+detail, " "))
	}
}

func addressWidth(masters []Master) (width int) {
	for _, m := range masters {
		width = max(width, term.Width(m.Address))
	}
	return width
}

// perLine is how many masters fit on a line of 80 columns, beside the verdict.
const perLine = 5

// strip prints how all masters stand in one line, or as few as it takes.
func (s *Screen) strip(masters []Master, quorum int) {
	up := 0
	for _, m := range masters {
		if m.State == stage.SeenUp {
			up++
		}
	}
	verdict := s.Green("a quorum")
	if up < quorum {
		verdict = s.Red("no quorum")
	}
	line := "   "
	for i, m := range masters {
		if i > 0 && i%perLine == 0 {
			s.line("%s", strings.TrimRight(line, " "))
			line = "   "
		}
		line += fmt.Sprintf("%3d %s", i+1, s.state(&m, 7))
	}
	s.line("%s   %d of %d: %s", line, up, len(masters), verdict)
}

// state is how a master stands, in so many columns at least.
func (s *Screen) state(m *Master, width int) string {
	if m.State == stage.SeenUp {
		return s.Green(term.Padded("✓ "+m.State, width))
	}
	return s.Red(term.Padded("✗ "+m.State, width))
}

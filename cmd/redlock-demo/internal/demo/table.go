package demo

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// A column of a table.
type column struct {
	head  string
	right bool // aligned to the right, as numbers are
}

// table prints rows under heads, each column as wide as it needs. paint, which
// may be nil, colours a cell after it was aligned.
func (s *Screen) table(columns []column, rows [][]string, paint func(row, col int, cell string) string) {
	width := make([]int, len(columns))
	for i, c := range columns {
		width[i] = utf8.RuneCountInString(c.head)
		for _, row := range rows {
			width[i] = max(width[i], utf8.RuneCountInString(row[i]))
		}
	}
	join := func(cells []string) string { return "   " + strings.TrimRight(strings.Join(cells, "  "), " ") }
	heads := make([]string, len(columns))
	for i, c := range columns {
		heads[i] = pad(c.head, width[i], c.right)
	}
	s.line("%s", s.dim(join(heads)))
	for r, row := range rows {
		cells := make([]string, len(columns))
		for i, c := range columns {
			cells[i] = row[i]
			if i < len(columns)-1 || c.right {
				cells[i] = pad(row[i], width[i], c.right)
			}
			if paint != nil {
				cells[i] = paint(r, i, cells[i])
			}
		}
		s.line("%s", join(cells))
	}
}

// masters prints one row a master.
func (s *Screen) masters(masters []Master) {
	rows := make([][]string, len(masters))
	number := 0 // within the fleet
	for i, m := range masters {
		if number++; i > 0 && m.Fleet != masters[i-1].Fleet {
			number = 1
		}
		state, detail := "✓ "+m.State, m.Cause
		if m.State != stateUp {
			state = "✗ " + m.State
		} else if m.RoundTrip > 0 {
			detail = "answers in " + span(m.RoundTrip.duration())
		}
		rows[i] = []string{strings.TrimSpace(m.Fleet + " " + strconv.Itoa(number)), m.Address, state, detail}
	}
	s.table([]column{{"", true}, {"master", false}, {"state", false}, {"", false}}, rows,
		func(row, col int, cell string) string {
			if col != 2 {
				return cell
			}
			return s.state(masters[row].State == stateUp, cell)
		})
}

// perLine is how many masters fit on a line of 80 columns, beside the verdict.
const perLine = 5

// strip prints how all masters stand in one line, or as few as it takes.
func (s *Screen) strip(masters []Master, quorum int) {
	up := 0
	for _, m := range masters {
		if m.State == stateUp {
			up++
		}
	}
	verdict := s.green("a quorum")
	if up < quorum {
		verdict = s.red("no quorum")
	}
	var line strings.Builder
	for i, m := range masters {
		state, last := "✗ "+m.State, i == len(masters)-1
		if m.State == stateUp {
			state = "✓ " + m.State
		}
		ends := i%perLine == perLine-1 && !last
		if !ends {
			state = pad(state, 7, false)
		}
		line.WriteString(pad(strconv.Itoa(i+1), 3, true) + " " + s.state(m.State == stateUp, state))
		if ends {
			s.line("   %s", line.String())
			line.Reset()
		}
	}
	s.line("   %s   %d of %d: %s", line.String(), up, len(masters), verdict)
}

func (s *Screen) state(up bool, text string) string {
	if up {
		return s.green(text)
	}
	return s.red(text)
}

package term

import (
	"bytes"
	"os"
	"slices"
	"strings"
)

// A Layout puts text and tables into the columns of a terminal, and loses nothing.
// What goes into a pipe or a file has its lines as they are.
type Layout struct{ Columns int } // 0: no terminal

// LayoutFor is the layout for a file, a terminal as wide as it is now.
func LayoutFor(f *os.File) Layout {
	if !IsTerminal(f) {
		return Layout{}
	}
	return Layout{ColumnsOf(f)}
}

// Fits reports whether lines of text have room.
func (l Layout) Fits(text string) bool {
	if l.Columns == 0 {
		return true
	}
	for line := range strings.Lines(text) {
		if Width(strings.TrimRight(line, "\n")) > l.Columns {
			return false
		}
	}
	return true
}

// Text writes a line: behind a lead that takes indent columns, and what has no room
// on lines below, as far in.
func (l Layout) Text(b *bytes.Buffer, lead string, indent int, text string) {
	if l.Columns == 0 || indent+Width(text) <= l.Columns {
		b.WriteString(lead + text + "\n")
		return
	}
	b.WriteString(Wrap(lead, indent, l.Columns, text) + "\n")
}

// A Table is rows below a header. A row that has as many cells as the header must have
// room on one line; the last cell of a shorter one may take several.
type Table struct {
	Rows  [][]string // the first is the header
	Spare []int      // columns that are left out where it is too wide: those with nothing in them, then in this order
	// Paragraph is a row as a sentence, with all its cells, where the table is too wide
	// even so; nil: the cells with colons between them.
	Paragraph func(row []string) string
}

// Table writes a table, or where that is too wide its rows as paragraphs.
func (l Layout) Table(b *bytes.Buffer, t Table) {
	left := [][]int{nil, t.empty()}
	for i := range t.Spare {
		left = append(left, append(t.empty(), t.Spare[:i+1]...))
	}
	for _, columns := range left {
		if lines := l.Lines(t.without(columns)); l.Fits(lines) {
			b.WriteString(lines)
			return
		}
	}
	for _, row := range t.Rows[1:] {
		text := strings.Join(row, ": ")
		if t.Paragraph != nil {
			text = t.Paragraph(row)
		}
		lines := Wrap("   ", 3, l.Columns-2, text)
		b.WriteString(strings.ReplaceAll(lines, "\n", "\n  ") + "\n") // the next master is seen at once
	}
}

// empty are those of the spare columns in which no row has anything.
func (t Table) empty() (columns []int) {
	for _, column := range t.Spare {
		used := func(row []string) bool { return column < len(row) && row[column] != "–" }
		if !slices.ContainsFunc(t.Rows[1:], used) {
			columns = append(columns, column)
		}
	}
	return columns
}

// without is the rows without some columns. Short rows have none of these.
func (t Table) without(columns []int) [][]string {
	var rows [][]string
	for _, row := range t.Rows {
		kept := row
		if len(row) == len(t.Rows[0]) {
			kept = nil
			for i, cell := range row {
				if !slices.Contains(columns, i) {
					kept = append(kept, cell)
				}
			}
		}
		rows = append(rows, kept)
	}
	return rows
}

// narrowest is the least room in which a cell is wrapped.
const narrowest = 24

// Lines puts rows below each other, each column as wide as it needs. The last cell of a
// row takes no part in that.
func (l Layout) Lines(rows [][]string) string {
	var width []int
	for _, row := range rows {
		for i, cell := range row[:len(row)-1] {
			if i == len(width) {
				width = append(width, 0)
			}
			width[i] = max(width[i], Width(cell))
		}
	}
	var b bytes.Buffer
	for _, row := range rows {
		lead, last := "   ", len(row)-1
		for i, cell := range row[:last] {
			lead += cell + strings.Repeat(" ", width[i]-Width(cell)+2)
		}
		if room := l.Columns - Width(lead); last+1 < len(rows[0]) && room >= narrowest {
			l.Text(&b, lead, l.Columns-room, row[last])
			continue
		}
		b.WriteString(lead + row[last] + "\n")
	}
	return b.String()
}

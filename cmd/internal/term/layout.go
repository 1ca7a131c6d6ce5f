package term

import (
	"bytes"
	"os"
	"slices"
	"strings"
)

// A Layout fits text and tables into the columns of a terminal, and loses nothing.
// In a pipe or a file lines stay as they are.
type Layout struct{ Columns int } // 0: no terminal

// LayoutFor returns the layout for a file; for a terminal, with its present width.
func LayoutFor(f *os.File) Layout {
	if !IsTerminal(f) {
		return Layout{}
	}
	return Layout{ColumnsOf(f)}
}

// Fits reports whether all lines of text fit.
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

// Text writes a line after a lead that takes indent columns. What does not fit goes on lines
// below, indented as much.
func (l Layout) Text(b *bytes.Buffer, lead string, indent int, text string) {
	if l.Columns == 0 || indent+Width(text) <= l.Columns {
		b.WriteString(lead + text + "\n")
		return
	}
	b.WriteString(Wrap(lead, indent, l.Columns, text) + "\n")
}

// A Table is rows below a header. A row that has as many cells as the header has to fit on one
// line; the last cell of a shorter one may take several.
type Table struct {
	Rows  [][]string // the first is the header
	Spare []int      // columns to leave out where it is too wide: first the empty ones, then in this order
	// Paragraph returns a row as a sentence with all its cells, for a table that is still
	// too wide; nil: the cells with colons between them.
	Paragraph func(row []string) string
}

// Table writes a table, or its rows as paragraphs where it is too wide.
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
		b.WriteString(strings.ReplaceAll(lines, "\n", "\n  ") + "\n") // indented, so that the next row stands out
	}
}

// empty returns the spare columns that are empty in all rows.
func (t Table) empty() (columns []int) {
	for _, column := range t.Spare {
		used := func(row []string) bool { return column < len(row) && row[column] != "–" }
		if !slices.ContainsFunc(t.Rows[1:], used) {
			columns = append(columns, column)
		}
	}
	return columns
}

// without returns the rows without some columns. Short rows stay as they are.
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

// narrowest is the least width in which a cell is wrapped.
const narrowest = 24

// Lines returns rows below each other, each column as wide as it needs. The last cell of a
// row does not count for that.
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

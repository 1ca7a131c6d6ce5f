package main

import (
	"bytes"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/words"
)

// A layout puts text and tables into the columns of a terminal, and loses nothing.
// What goes into a pipe or a file has its lines as they are.
type layout struct{ columns int } // 0: no terminal

// layoutFor is the layout for a file, a terminal as wide as it is now.
func layoutFor(f *os.File) layout {
	if !isTerminal(f) {
		return layout{}
	}
	return layout{columnsOf(f)}
}

// fits reports whether lines of text have room.
func (l layout) fits(text string) bool {
	if l.columns == 0 {
		return true
	}
	for line := range strings.Lines(text) {
		if utf8.RuneCountInString(strings.TrimRight(line, "\n")) > l.columns {
			return false
		}
	}
	return true
}

// text writes a line: behind a lead that takes indent columns, and what has no room
// on lines below, as far in.
func (l layout) text(b *bytes.Buffer, lead string, indent int, text string) {
	if l.columns == 0 || indent+utf8.RuneCountInString(text) <= l.columns {
		b.WriteString(lead + text + "\n")
		return
	}
	b.WriteString(words.Wrap(lead, indent, l.columns, text) + "\n")
}

// A table is rows below a header. A row that has as many cells as the header must have
// room on one line; the last cell of a shorter one may take several.
type table struct {
	rows  [][]string // the first is the header
	spare []int      // columns that are left out, one after the other, where it is too wide
	// paragraph is a row as a sentence, with all its cells, where the table is too wide
	// even so.
	paragraph func(row []string) string
}

// table writes a table, or where that is too wide its rows as paragraphs.
func (l layout) table(b *bytes.Buffer, t table) {
	for left := range len(t.spare) + 1 {
		if lines := l.lines(t.without(t.spare[:left])); l.fits(lines) {
			b.WriteString(lines)
			return
		}
	}
	for _, row := range t.rows[1:] {
		lines := words.Wrap("   ", 3, l.columns-2, t.paragraph(row))
		b.WriteString(strings.ReplaceAll(lines, "\n", "\n  ") + "\n") // the next master is seen at once
	}
}

// without is the rows without some columns. Short rows have none of these.
func (t table) without(columns []int) [][]string {
	var rows [][]string
	for _, row := range t.rows {
		kept := row
		if len(row) == len(t.rows[0]) {
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

// lines puts rows below each other, each column as wide as it needs. The last cell of a
// row takes no part in that.
func (l layout) lines(rows [][]string) string {
	var width []int
	for _, row := range rows {
		for i, cell := range row[:len(row)-1] {
			if i == len(width) {
				width = append(width, 0)
			}
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	var b bytes.Buffer
	for _, row := range rows {
		lead, last := "   ", len(row)-1
		for i, cell := range row[:last] {
			lead += cell + strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell)+2)
		}
		if room := l.columns - utf8.RuneCountInString(lead); last+1 < len(rows[0]) && room >= narrowest {
			l.text(&b, lead, l.columns-room, row[last])
			continue
		}
		b.WriteString(lead + row[last] + "\n")
	}
	return b.String()
}

// align prints rows as a table for any width.
func align(w io.Writer, rows [][]string) error {
	_, err := io.WriteString(w, layout{}.lines(rows))
	return err
}

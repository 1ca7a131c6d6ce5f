package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A column is one figure of each row.
type column struct {
	head string
	cell func(m *measurements, row id) string
}

// value is the median of a unit.
func value(head, unit string) column {
	return column{head, func(m *measurements, row id) string { return number(m.of(row, unit)) }}
}

// valueOfSame is the median in another benchmark of the same library and size.
func valueOfSame(head, benchmark, unit string) column {
	return column{head, func(m *measurements, row id) string { return number(m.of(row.in(benchmark), unit)) }}
}

// ratioTo is what a library has over another, within a repetition: its median,
// and its least and its greatest value.
func ratioTo(lib, unit string) column {
	return column{"× " + label(lib) + " (least to greatest)", func(m *measurements, row id) string {
		s := m.ratio(row, row.of(lib), unit)
		switch {
		case row.lib == lib:
			return "1"
		case row.lib == single || s.n == 0: // the one does other work
			return missing
		}
		return fmt.Sprintf("%.2f× (%.2f to %.2f)", s.median, s.least, s.most)
	}}
}

// shareOf is the median of the same ratio alone.
func shareOf(lib, unit string) column {
	return column{"of the " + lib, func(m *measurements, row id) string {
		if row.lib == single {
			return missing
		}
		return number(m.ratio(row, row.of(lib), unit))
	}}
}

// shareOfSame is the median of the ratio to another benchmark of the same
// library and size.
func shareOfSame(head, benchmark, unit string) column {
	return column{head, func(m *measurements, row id) string { return number(m.ratio(row, row.in(benchmark), unit)) }}
}

// rows are the family's results: by size, and then by library.
func (m *measurements) rows(f family) (rows []id) {
	for what := range m.series {
		if what.benchmark == f.benchmark && what.by == f.by && slices.Contains(f.libs, what.lib) {
			rows = append(rows, what)
		}
	}
	slices.SortFunc(rows, func(a, b id) int {
		if a.n != b.n {
			return a.n - b.n
		}
		return slices.Index(f.libs, a.lib) - slices.Index(f.libs, b.lib)
	})
	return rows
}

// table has a family's rows, of which there is one at least.
func (m *measurements) table(f family, rows []id) string {
	heads, dashes := []string{f.by}, "|---:"
	if len(f.libs) > 1 {
		heads, dashes = append(heads, "library"), dashes+"|:---" // names stand left
	}
	for _, c := range f.columns {
		heads, dashes = append(heads, c.head), dashes+"|---:"
	}
	lines := []string{line(heads...), dashes + "|"}
	for _, row := range rows {
		cells := []string{thousands(strconv.Itoa(row.n))}
		if len(f.libs) > 1 {
			cells = append(cells, label(row.lib))
		}
		for _, c := range f.columns {
			cells = append(cells, c.cell(m, row))
		}
		lines = append(lines, line(cells...))
	}
	return strings.Join(lines, "\n")
}

func line(cells ...string) string { return "| " + strings.Join(cells, " | ") + " |" }

// missing stands where nothing was measured.
const missing = "–"

// number writes a median with about three digits, and thousands apart.
func number(s spread) string {
	switch v := s.median; {
	case s.n == 0:
		return missing
	case v != 0 && v < 0.0995:
		return strconv.FormatFloat(v, 'g', 2, 64)
	case v < 9.995:
		return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 2, 64), ".00")
	case v < 99.95:
		return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0")
	default:
		return thousands(strconv.FormatFloat(v, 'f', 0, 64))
	}
}

func thousands(digits string) string {
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

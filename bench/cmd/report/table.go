package main

import (
	"cmp"
	"errors"
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
func value(head, unit string) column { return valueOfSame(head, "", unit) }

// valueOfSame is the median in another benchmark of the same library and size; "": in the row's own.
func valueOfSame(head, benchmark, unit string) column {
	return column{head, func(m *measurements, row id) string {
		row.benchmark = cmp.Or(benchmark, row.benchmark)
		return number(of(m.series[row], unit))
	}}
}

// ratioTo is what a library has over another, within a repetition: its median,
// and its least and its greatest value.
func ratioTo(lib, unit string) column {
	return column{"× " + label(lib) + " (least to greatest)", func(m *measurements, row id) string {
		switch row.lib {
		case lib:
			return "1"
		case single: // does other work
			return missing
		}
		return ratio(ratios(m.series[row], m.series[row.of(lib)], unit))
	}}
}

// shareOf is the median of the same ratio alone.
func shareOf(lib, unit string) column {
	return column{"of the " + lib, func(m *measurements, row id) string {
		if row.lib == single {
			return missing
		}
		return number(ratios(m.series[row], m.series[row.of(lib)], unit))
	}}
}

// shareOfSame is the median of the ratio to another benchmark of the same
// library and size.
func shareOfSame(head, benchmark, unit string) column {
	return column{head, func(m *measurements, row id) string {
		other := row
		other.benchmark = benchmark
		return number(ratios(m.series[row], m.series[other], unit))
	}}
}

// rows are the family's results: by size, and then by library.
func (m *measurements) rows(f family) []id {
	var sizes []int
	for what := range m.series {
		if what.benchmark == f.benchmark && what.by == f.by && slices.Contains(f.libs, what.lib) {
			sizes = append(sizes, what.n)
		}
	}
	slices.Sort(sizes)
	var rows []id
	for _, n := range slices.Compact(sizes) {
		for _, lib := range f.libs {
			if row := (id{f.benchmark, lib, f.by, n}); len(m.series[row]) > 0 {
				rows = append(rows, row)
			}
		}
	}
	return rows
}

// table writes a family's rows, of which there is one at least.
func (m *measurements) table(b *strings.Builder, f family, rows []id) {
	heads := []string{f.by}
	if len(f.libs) > 1 {
		heads = append(heads, "library")
	}
	for _, c := range f.columns {
		heads = append(heads, c.head)
	}
	writeRow(b, heads...)
	for i := range heads {
		if i == 1 && len(f.libs) > 1 {
			b.WriteString("|:---") // names stand left
		} else {
			b.WriteString("|---:")
		}
	}
	b.WriteString("|\n")
	for _, row := range rows {
		cells := []string{thousands(strconv.Itoa(row.n))}
		if len(f.libs) > 1 {
			cells = append(cells, label(row.lib))
		}
		for _, c := range f.columns {
			cells = append(cells, c.cell(m, row))
		}
		writeRow(b, cells...)
	}
	b.WriteByte('\n')
}

// notes say what a reader of the table has to know: repetitions that are not
// complete, and pairs that failed.
func (m *measurements) notes(b *strings.Builder, rows []id) {
	for _, row := range rows {
		own, theirs := len(m.series[row]), len(m.series[row.of(peer)])
		if row.lib == ours && own != theirs && theirs > 0 {
			fmt.Fprintf(b, "%s=%d: results of %s: %d, of %s: %d; the ratio leaves out those without a counterpart.\n\n",
				row.by, row.n, peer, theirs, ours, own)
		}
		if s := of(m.series[row], "failed/op"); s.most > 0 {
			fmt.Fprintf(b, "%s=%d: up to %.3g %% of the pairs of %s failed.\n\n", row.by, row.n, 100*s.most, label(row.lib))
		}
	}
}

func writeRow(b *strings.Builder, cells ...string) {
	b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}

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

func ratio(s spread) string {
	if s.n == 0 {
		return missing
	}
	return fmt.Sprintf("%.2f× (%.2f to %.2f)", s.median, s.least, s.most)
}

// markdown is the whole report. image is the plot, as a link from where the
// report lies; empty leaves it out.
func (m *measurements) markdown(image string) (string, error) {
	var sections strings.Builder
	for _, f := range families {
		rows := m.rows(f)
		if len(rows) == 0 {
			continue
		}
		fmt.Fprintf(&sections, "## %s\n\n", f.title)
		if f.text != "" {
			fmt.Fprintf(&sections, "%s\n\n", f.text)
		}
		if f.benchmark == lockUnlock && image != "" {
			fmt.Fprintf(&sections, "![pairs a second over goroutines, by library](%s)\n\n", image)
		}
		m.table(&sections, f, rows)
		m.notes(&sections, rows)
	}
	sections.WriteString(m.distances())
	if sections.Len() == 0 {
		return "", errNothing
	}
	return "# Benchmarks\n\n" +
		"Written by `make bench`; [performance](performance.md) says what is measured and how. " +
		m.conditions() + " The masters run on the same machine.\n\n" +
		strings.TrimRight(sections.String(), "\n") + "\n", nil
}

var errNothing = errors.New("no result of any benchmark that the report knows")

// conditions is one sentence about what the figures were measured with, as far
// as the file says.
func (m *measurements) conditions() string {
	parts := []string{m.repetitions()}
	for _, c := range []struct{ key, format string }{
		{"redis-server", "redis-server %s"},
		{"redsync", "redsync %s"},
		{"redigo", "redigo %s"},
		{"go-redis", "go-redis %s"},
		{"redislock", "redislock %s"},
		{"rueidislock", "rueidislock %s"},
		{"go", "%s"},
		{"goos", "%s"},
		{"goarch", "%s"},
		{"cpu", "%s"},
		{procsKey, "GOMAXPROCS %s"},
	} {
		if v := m.config[c.key]; v != "" {
			parts = append(parts, fmt.Sprintf(c.format, v))
		}
	}
	return strings.Join(parts, ", ") + "."
}

func (m *measurements) repetitions() string {
	var counts []int
	for _, series := range m.series {
		counts = append(counts, len(series))
	}
	least, most := slices.Min(counts), slices.Max(counts)
	switch {
	case least != most:
		return fmt.Sprintf("Medians of %d to %d repetitions", least, most)
	case most == 1:
		return "One repetition"
	default:
		return fmt.Sprintf("Medians of %d repetitions", most)
	}
}

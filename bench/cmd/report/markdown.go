package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

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
		"Written by `make bench`; [docs/explanation/performance.md](docs/explanation/performance.md) says what is measured and how. " +
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

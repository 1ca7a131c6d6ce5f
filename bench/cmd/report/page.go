package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A page is a report in its parts.
type page struct {
	head     string            // the title and what holds for all sections
	sections map[string]string // a table, or a few, with its heading, by title
}

// String has the sections in their order. One of another title is no longer written, and goes.
func (p page) String() string {
	parts := []string{p.head}
	for _, f := range families {
		parts = append(parts, p.sections[f.title])
	}
	parts = slices.DeleteFunc(append(parts, p.sections[distanceTitle]), func(text string) bool { return text == "" })
	return strings.Join(parts, "\n\n") + "\n"
}

// readPage takes a report apart.
func readPage(text string) page {
	parts := strings.Split(strings.TrimSpace(text), "\n\n## ")
	p := page{parts[0], make(map[string]string)}
	for _, part := range parts[1:] {
		title, _, _ := strings.Cut(part, "\n")
		p.sections[title] = "## " + part
	}
	return p
}

// page is the whole report. image is the plot, as a link from where the report lies;
// empty leaves it out.
func (m *measurements) page(image string) (page, error) {
	p := page{"# Benchmarks\n\nWritten by `make bench`; [performance](performance.md) says what is measured and how. " +
		m.conditions() + " The masters run on the same machine.", make(map[string]string)}
	for _, f := range families {
		rows := m.rows(f)
		if len(rows) == 0 {
			continue
		}
		parts := []string{"## " + f.title, f.text, "", m.table(f, rows)}
		if f.benchmark == lockUnlock && image != "" {
			parts[2] = fmt.Sprintf("![pairs a second over goroutines, by library](%s)", image)
		}
		parts = slices.DeleteFunc(append(parts, m.notes(rows)...), func(text string) bool { return text == "" })
		p.sections[f.title] = strings.Join(parts, "\n\n")
	}
	if text := m.distances(); text != "" {
		p.sections[distanceTitle] = text
	}
	if len(p.sections) == 0 {
		return page{}, errors.New("no result of any benchmark that the report knows")
	}
	return p, nil
}

// publish writes the report to a file, with a link to the plot. Sections of the file
// that m has no figures of stay as they are, and so does the head, which says how they
// were measured. What is new among them says by itself how it was measured.
func (m *measurements) publish(file, plot string) error {
	image := ""
	if plot != "" {
		link, err := filepath.Rel(filepath.Dir(file), plot)
		if err != nil {
			return err
		}
		image = filepath.ToSlash(link)
	}
	latest, err := m.page(image)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	merged := readPage(string(text))
	for title := range latest.sections {
		delete(merged.sections, title)
	}
	if len(merged.sections) == 0 {
		merged = latest
	} else {
		for title, text := range latest.sections {
			merged.sections[title] = text + "\n\nMeasured by itself. " + m.conditions()
		}
	}
	return os.WriteFile(file, []byte(merged.String()), 0o644)
}

// conditions is one sentence about what the figures were measured with, as far
// as the file says.
func (m *measurements) conditions() string {
	parts := []string{m.repetitions()}
	for _, key := range []string{"redis-server", "redsync", "redigo", "go-redis", "redislock", "rueidislock", "go", "goos", "goarch", "cpu", procsKey} {
		switch value := m.config[key]; {
		case value == "":
		case slices.Contains([]string{"go", "goos", "goarch", "cpu"}, key):
			parts = append(parts, value)
		default:
			parts = append(parts, key+" "+value)
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

// notes say what a reader of a table has to know: repetitions that are not
// complete, and pairs that failed.
func (m *measurements) notes(rows []id) (notes []string) {
	for _, row := range rows {
		own, theirs := len(m.series[row]), len(m.series[row.of(peer)])
		if row.lib == ours && own != theirs && theirs > 0 {
			notes = append(notes, fmt.Sprintf("%s=%d: results of %s: %d, of %s: %d; the ratio leaves out those without a counterpart.",
				row.by, row.n, peer, theirs, ours, own))
		}
		if s := m.of(row, "failed/op"); s.most > 0 {
			notes = append(notes, fmt.Sprintf("%s=%d: up to %.3g %% of the pairs of %s failed.", row.by, row.n, 100*s.most, label(row.lib)))
		}
	}
	return notes
}

func label(lib string) string { return cmp.Or(labels[lib], lib) }

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
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

// publish writes the report of m to file. Sections of the file that m has no figures of
// stay as they are, and so does the head, which says how they were measured. What is new
// among them says by itself how it was measured.
func publish(m *measurements, image, file string) error {
	text, err := m.markdown(image)
	if err != nil {
		return err
	}
	old, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	merged := merge(readPage(string(old)), readPage(text), m.conditions())
	return os.WriteFile(file, []byte(merged.String()), 0o644)
}

// merge is the new page, with those sections of the old one that the new one lacks.
func merge(old, latest page, conditions string) page {
	kept := maps.Clone(old.sections)
	maps.DeleteFunc(kept, func(title, _ string) bool { return latest.sections[title] != "" })
	if len(kept) == 0 {
		return latest
	}
	for title, text := range latest.sections {
		kept[title] = fmt.Sprintf("%s\n\nMeasured by itself. %s", text, conditions)
	}
	return page{old.head, kept}
}

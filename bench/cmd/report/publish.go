package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// A page is a report in its parts.
type page struct {
	head     string    // the title and what holds for all sections
	sections []section // in their order
}

// A section is a table, or a few, with its heading.
type section struct {
	title string
	text  string // all of it, with the heading
}

func (p page) String() string {
	var b strings.Builder
	b.WriteString(p.head)
	for _, s := range p.sections {
		b.WriteString("\n\n" + s.text)
	}
	return b.String() + "\n"
}

// readPage takes a report apart.
func readPage(text string) page {
	parts := strings.Split(strings.TrimSpace(text), "\n\n## ")
	p := page{head: parts[0]}
	for _, part := range parts[1:] {
		title, _, _ := strings.Cut(part, "\n")
		p.sections = append(p.sections, section{title, "## " + part})
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
	measured := make(map[string]string)
	for _, s := range latest.sections {
		measured[s.title] = s.text
	}
	kept := make(map[string]string)
	for _, s := range old.sections {
		if _, again := measured[s.title]; !again {
			kept[s.title] = s.text
		}
	}
	if len(kept) == 0 {
		return latest
	}
	merged := page{head: old.head}
	for _, title := range titles() {
		if text, ok := kept[title]; ok {
			merged.sections = append(merged.sections, section{title, text})
		}
		if text, ok := measured[title]; ok {
			merged.sections = append(merged.sections, section{title, fmt.Sprintf("%s\n\nMeasured by itself. %s", text, conditions)})
		}
	}
	return merged
}

// titles are those of all sections, in their order. A section of another title is no
// longer written, and goes.
func titles() []string {
	var all []string
	for _, f := range families {
		all = append(all, f.title)
	}
	return append(all, distanceTitle)
}

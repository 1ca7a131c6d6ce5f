package redlock_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// link is what stands between the parentheses of a link in Markdown.
var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// Every link of a page to another one, or to a section, leads somewhere.
func TestLinksOfThePagesLeadSomewhere(t *testing.T) {
	var pages []string
	for _, pattern := range []string{"../*.md", "../docs/*.md", "../internal/*.md", "../contrib/*/*.md", "../.github/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	links := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range link.FindAllStringSubmatch(string(text), -1) {
			target := found[1]
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			links++
			file, section, _ := strings.Cut(target, "#")
			if file == "" {
				file = page
			} else {
				file = filepath.Join(filepath.Dir(page), file)
			}
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s links to %s, which is not there", page, target)
			} else if section != "" && strings.HasSuffix(file, ".md") && !hasSection(t, file, section) {
				t.Errorf("%s links to %s: there is no such section", page, target)
			}
		}
	}
	if links < 100 {
		t.Errorf("%d links were found: too few to be all", links)
	}
}

// hasSection reports whether a page has a heading of that name, as the usual hosts make
// names of headings.
func hasSection(t *testing.T, page, name string) bool {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		title, ok := strings.CutPrefix(strings.TrimLeft(strings.TrimSpace(line), "#"), " ")
		if !ok || !strings.HasPrefix(line, "#") {
			continue
		}
		slug := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
				return unicode.ToLower(r)
			}
			return -1
		}, title)
		if slug == name {
			return true
		}
	}
	return false
}

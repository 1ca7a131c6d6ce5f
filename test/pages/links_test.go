package pages

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// link matches the target of a link in Markdown.
var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// Every link of a page to another one, or to a section, leads somewhere.
func TestLinksOfThePagesLeadSomewhere(t *testing.T) {
	pages := pagesOf(t, "../..")
	links := 0
	for _, page := range pages {
		for _, found := range link.FindAllStringSubmatch(read(t, page), -1) {
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

// The index names every page, so that none is found by chance alone.
func TestIndexHasEveryPage(t *testing.T) {
	const index = "../../docs/README.md"
	named := make(map[string]bool)
	for _, found := range link.FindAllStringSubmatch(read(t, index), -1) {
		file, _, _ := strings.Cut(found[1], "#")
		named[filepath.Join(filepath.Dir(index), file)] = true
	}
	for _, page := range pagesOf(t, "../../docs") {
		if page != filepath.Clean(index) && !named[page] {
			t.Errorf("%s does not name %s", index, page)
		}
	}
}

// pagesOf returns the Markdown files below a folder, except for those in testdata: tests
// compare output with them.
func pagesOf(t *testing.T, folder string) []string {
	t.Helper()
	var pages []string
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "testdata" || entry.Name() == ".git"):
			return filepath.SkipDir
		case filepath.Ext(path) == ".md":
			pages = append(pages, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

// hasSection reports whether a page has a heading of that name, in the form that the usual
// hosts give it.
func hasSection(t *testing.T, page, name string) bool {
	t.Helper()
	for line := range strings.Lines(read(t, page)) {
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

package main

import (
	"strings"
	"testing"
)

const firstVersion = `## 0.1.0 (2026-11-23)

- First.
`

const twoVersions = `# Changelog

## 0.2.0 (unreleased)

- New.

` + firstVersion

func TestTheNewestSectionGetsItsDate(t *testing.T) {
	text, err := parseChangelog(twoVersions).dated("v0.2.0", "2026-12-01")
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Replace(twoVersions, "(unreleased)", "(2026-12-01)", 1); text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
}

func TestAVersionThatIsNotNextIsNotReleased(t *testing.T) {
	for _, c := range []struct{ name, text, version, date, want string }{
		{"another version", twoVersions, "v0.3.0", "2026-12-01", "is for v0.2.0"},
		{"an older version", twoVersions, "v0.1.0", "2026-12-01", "is for v0.2.0"},
		{"released already", firstVersion, "v0.1.0", "2026-12-01", "was released on 2026-11-23"},
		{"nothing to tell", "## 0.1.0 (unreleased)\n\n", "v0.1.0", "2026-12-01", "is empty"},
		{"no section", "# Changelog\n", "v0.1.0", "2026-12-01", "no section"},
		{"no date", twoVersions, "v0.2.0", "today", "date"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := parseChangelog(c.text).dated(c.version, c.date)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}

func TestNotesAreTheSectionWithoutItsHeading(t *testing.T) {
	for version, want := range map[string]string{"v0.2.0": "- New.", "v0.1.0": "- First."} {
		if got, err := parseChangelog(twoVersions).notes(version); err != nil || got != want {
			t.Errorf("notes of %s: %q, %v; want %q", version, got, err, want)
		}
	}
	linked := strings.Replace(twoVersions, "New.", "New ([docs](docs/new.md#why), [elsewhere](https://example.test/a.md)).", 1)
	want := "- New ([docs](https://github.com/redquorum/redquorum/blob/v0.2.0/docs/new.md#why), [elsewhere](https://example.test/a.md))."
	if got, err := parseChangelog(linked).notes("v0.2.0"); err != nil || got != want {
		t.Errorf("notes with links: %q, %v; want %q", got, err, want)
	}
	if _, err := parseChangelog(twoVersions).notes("v1.0.0"); err == nil {
		t.Error("notes of a version that has none")
	}
}

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/redquorum/redquorum/cmd/internal/rig"
)

func TestTheHelpIsAsInItsGoldenFiles(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "chaos", "doctor", "exec", "init", "locks", "release", "status", "wait"} {
		stdout, stderr, code := output(t, nil, strings.Fields(name+" --help")...)
		if code != 0 || stderr != "" {
			t.Errorf("%s: exit code %d, %q", name, code, stderr)
		}
		rig.Golden(t, strings.TrimPrefix(name+"-help", "-"), stdout)
	}
}

// passedOn are the signals that a text names between two others, and behind "but for" those that are not passed on.
func passedOn(t *testing.T, text, from, to string) (list []string) {
	t.Helper()
	_, text, found := strings.Cut(text, from)
	text, _, ended := strings.Cut(text, to)
	if list = regexp.MustCompile(`SIG[A-Z0-9]+|signal \d+|but for`).FindAllString(text, -1); !found || !ended || len(list) < 8 {
		t.Fatalf("no signals between %q and %q", from, to)
	}
	return list
}

func TestThePageOfExecAndItsHelpNameTheSameSignals(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "exec.md"))
	if err != nil {
		t.Fatal(err)
	}
	help, _, _ := output(t, nil, "exec", "--help")
	onPage := passedOn(t, string(page), "## Signals and the terminal", "are passed on")
	inHelp := passedOn(t, help, "passes on to its process", "If the")
	if !slices.Equal(onPage, inHelp) {
		t.Errorf("exec.md passes on %q, --help %q", onPage, inHelp)
	}
}

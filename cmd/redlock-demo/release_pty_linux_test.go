package main

import (
	"strings"
	"testing"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/testutil"
	"github.com/redquorum/redquorum/internal/redistest"
)

// atThePrompt starts the release of k on a terminal, and waits until it asks.
func atThePrompt(t *testing.T, c *redistest.Cluster) *terminal {
	t.Helper()
	term := onTerminal(t, command(t, []string{"TERM=xterm"}, "release", "--masters", addresses(c), "k"))
	term.await(t, "Type yes to go on: ")
	return term
}

func TestAReleaseIsConfirmedAtTheTerminal(t *testing.T) {
	t.Parallel()
	c := servers(t, 3)
	token := "billing" + testutil.TokenOf
	do(t, c.Masters, "SET", "k", token, "PX", minuteInMS)
	for _, test := range []struct {
		typed    string
		code     int
		released bool
	}{{"no\n", app.ExitUsage, false}, {ctrlC, 130, false}, {"yes\n", 0, true}} {
		term := atThePrompt(t, c)
		term.press(t, test.typed)
		code, text := term.end(t)
		if is := value(t, c.Masters[0], "k") != token; code != test.code || is != test.released || !strings.Contains(text, `k: held by "billing" on 3 of 3 for `) || !strings.Contains(strings.Join(strings.Fields(text), " "), "Nobody gets in before the time that is left is over") {
			t.Errorf("%q: exit code %d, released %t\n%s", test.typed, code, is, text)
		}
	}
}

func TestALockThatHasChangedHandsSinceItWasShownIsNotTouched(t *testing.T) {
	t.Parallel()
	c := servers(t, 5)
	next := "shop" + strings.ReplaceAll(testutil.TokenOf, "a", "b")
	do(t, c.Masters, "SET", "k", "billing"+testutil.TokenOf, "PX", minuteInMS)
	term := atThePrompt(t, c)
	do(t, c.Masters, "SET", "k", next, "PX", minuteInMS)
	term.press(t, "yes\n")
	code, text := term.end(t)
	if code != app.ExitFailed || strings.Count(text, "changed\r\n") != 5 || !strings.Contains(text, "the lock has changed hands or ended meanwhile: ") {
		t.Errorf("exit code %d\n%s", code, text)
	}
	for i, m := range c.Masters {
		if got := value(t, m, "k"); got != next {
			t.Errorf("master %d has %q", i, got)
		}
	}
}

package main

import (
	"strings"
	"testing"

	"github.com/redquorum/redquorum/internal/redistest"
)

func TestAnInitWithoutAMasterIsConfirmedAtTheTerminal(t *testing.T) {
	t.Parallel()
	c, urls := processes(t, 3, redistest.Config{})
	if err := c.Masters[2].Kill(); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		typed    string
		code     int
		declared bool
	}{{"no\n", exitUsage, false}, {"yes\n", 0, true}} {
		term := onTerminal(t, command(t, []string{"TERM=xterm"}, "init", "--masters", urls, "--without", c.Masters[2].Addr()))
		term.await(t, "Type yes to go on: ")
		term.press(t, test.typed)
		code, text := term.end(t)
		want := "These masters are absent, and are taken for new ones: " + c.Masters[2].Addr() + "."
		if m := markerOf(t, c.Masters[0]); code != test.code || (m != nil) != test.declared || !strings.Contains(text, want) || !strings.Contains(text, "The others vote at once.") {
			t.Errorf("%q: exit code %d, %+v\n%s", test.typed, code, m, text)
		}
	}
}

func TestAForcedInitIsConfirmedAtTheTerminal(t *testing.T) {
	t.Parallel()
	c, urls := processes(t, 3, redistest.Config{})
	if _, code := initialized(t, "--masters", urls); code != 0 {
		t.Fatal(code)
	}
	for _, test := range []struct {
		typed string
		code  int
		level string
	}{{"no\n", exitUsage, "standard"}, {ctrlC, 130, "standard"}, {"yes\n", 0, "strict"}} {
		term := onTerminal(t, command(t, []string{"TERM=xterm"}, "init", "--masters", urls, "--guard", "strict", "--force"))
		term.await(t, "Type yes to go on: ")
		term.press(t, test.typed)
		code, text := term.end(t)
		if m := markerOf(t, c.Masters[0]); code != test.code || m.LevelIs != test.level || !strings.Contains(text, "The fleet becomes: 3 masters, strict, longest TTL 1m0s.") {
			t.Errorf("%q: exit code %d, %+v\n%s", test.typed, code, m, text)
		}
	}
}

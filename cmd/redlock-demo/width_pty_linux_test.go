package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/redquorum/redquorum/cmd/internal/rig"
	"github.com/redquorum/redquorum/internal/redistest"
)

// At night people read through a narrow window, and send what they see to others
// through a pipe.
func TestANarrowTerminalAndAPipeShowTheSame(t *testing.T) {
	t.Parallel()
	c, urls := processes(t, 5, redistest.Config{})
	initialize(t, urls)
	key, owner := strings.Repeat("0123456789", 12), strings.Repeat("x", 60)
	do(t, c.Masters, "SET", key, owner+rig.TokenOf, "PX", minuteInMS)
	kill(t, c.Masters[3:]...)
	const columns = 60
	for _, test := range []struct {
		args []string
		says []string // whatever the width
	}{
		{[]string{"status", "deploy"}, []string{"Can lock: YES. 3 of 5 masters vote, 3 needed."}},
		{[]string{"doctor", "--for", "1s"}, []string{
			"Can lock: YES. 3 of 5 masters vote, 3 needed.", "is down: connection refused", "→ Start it, or mend the network to it.",
		}},
		{[]string{"locks"}, []string{"1 lock is held.", "Searched 3 of 5 masters in "}},
		{[]string{"init"}, []string{
			"5 masters, standard, longest TTL 1m0s", "✗ down: connection refused",
			"nothing was written: 2 masters cannot be asked, and all are needed",
		}},
	} {
		args := append([]string{test.args[0], "--masters", urls}, test.args[1:]...)
		_, narrow := onTerminalOf(t, columns, command(t, []string{"TERM=dumb"}, args...)).end(t)
		stdout, stderr, _ := output(t, nil, args...)
		if n := longest(narrow); n > columns {
			t.Errorf("%s: a line of %d columns:\n%s", args[0], n, narrow)
		}
		for name, text := range map[string]string{"60 columns": narrow, "a pipe": stdout + stderr} {
			unwrapped := strings.Join(strings.Fields(text), " ")
			for _, words := range test.says {
				if !strings.Contains(unwrapped, words) {
					t.Errorf("%s: %q is not in %s:\n%s", args[0], words, name, text)
				}
			}
		}
		for _, s := range c.Masters[3:] {
			line := regexp.MustCompile(`(?m)^.*` + regexp.QuoteMeta(s.Addr()) + ` .*connection refused$`)
			if !line.MatchString(stdout) {
				t.Errorf("%s: why %s does not answer is not on its line:\n%s", args[0], s.Addr(), stdout)
			}
		}
	}
	if stdout, _, _ := output(t, nil, "locks", "--masters", urls); !strings.Contains(stdout, key+"  lock  "+owner+"  3 of 5") {
		t.Errorf("a pipe does not get all of it:\n%s", stdout)
	}
}

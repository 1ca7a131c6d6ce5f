package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/redquorum/redquorum/internal/redistest"
)

// At night people read through a narrow window, and send what they see to others
// through a pipe.
func TestANarrowTerminalAndAPipeShowTheSame(t *testing.T) {
	t.Parallel()
	c, urls := processes(t, 5, redistest.Config{})
	if _, stderr, code := output(t, nil, "init", "--masters", urls); code != 0 {
		t.Fatal(stderr)
	}
	r := start(t, c, "--owner", "billing@app-17.example.org/12345", "k", "--", "sh", "-c", "echo ready; read line")
	r.stdout.await(t, "ready")
	kill(t, c.Masters[3:]...)
	const columns = 60
	for _, test := range []struct {
		args []string
		says []string // whatever the width
	}{
		{[]string{"status", "k"}, []string{
			"Can lock: YES. 3 of 5 masters vote, 3 needed.", `k: held by "billing@app-17.example.org/12345" on 3 of 5`,
			" s left unless renewed, 2 did not answer", "✗ down: connection refused",
		}},
		{[]string{"doctor", "--for=100ms"}, []string{
			"Can lock: YES. 3 of 5 masters vote, 3 needed.", "✗ connect: connection refused",
			"With 3 of 5 left locks go on, but none more may fail.",
			"→ CONFIG SET appendonly yes and CONFIG SET appendfsync always, and the same in its redis.conf; or keep it, with a guard.",
		}},
		{[]string{"init"}, []string{
			"5 masters, standard, longest TTL 1m0s", "✗ down: connection refused",
			"nothing was written: 2 masters cannot be asked, and all are needed",
		}},
	} {
		args := append([]string{test.args[0], "--masters", urls}, test.args[1:]...)
		_, narrow := onTerminalOf(t, columns, command(t, []string{"TERM=dumb"}, args...)).end(t)
		stdout, stderr, _ := output(t, nil, args...)
		shown, _, _ := strings.Cut(narrow, "redlock-demo: ") // that is an error, on a line of its own
		if n := longest(shown); n > columns {
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
	r.say(t, "")
	r.end(t)
}

package main

import (
	"strings"
	"testing"
	"unicode"

	"github.com/redquorum/redquorum/cmd/internal/testutil"
)

func TestWhatAMasterSaysDoesNotReachTheTerminalAsItIs(t *testing.T) {
	t.Parallel()
	c := testutil.Cluster(t, 1)
	c.Masters()[0].Refuse(func(string) string { return "ERR \x1b]0;title\a\u009b31m\u202e red" })
	for _, line := range []string{
		"exec --try k -- true", "exec --json --try k -- true", "status k", "status --json k", "doctor --for 100ms", "doctor --json --for 100ms",
		"locks", "locks --json", "init", "release --yes k",
	} {
		stdout, stderr, _ := output(t, []string{"REDLOCK_MASTERS=" + testutil.List(c)}, strings.Fields(line)...)
		if strings.HasPrefix(line, "exec") && !strings.Contains(stderr, " red") {
			t.Errorf("%s does not say what the master says: %q", line, stderr)
		}
		for _, r := range stdout + stderr {
			if r != '\n' && unicode.In(r, unicode.Cc, unicode.Cf) {
				t.Errorf("%s: %q in %q", line, r, stdout+stderr)
				break
			}
		}
	}
}

//go:build unix

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/exec"
)

// A lock that is held around a command would wait for itself.
func TestANestedExecOfTheSameKeyIsRefusedOrRunsUnderTheLock(t *testing.T) {
	t.Parallel()
	c := servers(t, 3)
	self := command(t, nil).Path
	masters := []string{app.MastersVariable + "=" + addresses(c)}
	const before, end = `redlock-demo: an outer exec holds lock "k" already, and this one would wait for its own parent`, "unset REDLOCK_HELD\n"
	nest := func(args string) []string {
		return []string{"exec", "k", "--", "sh", "-c", `exec "$0" exec ` + args, self}
	}

	stdout, stderr, code := output(t, masters, nest("k -- echo inner")...)
	if code != app.ExitUsage || stdout != "" || !strings.HasPrefix(stderr, before) || !strings.HasSuffix(stderr, end) {
		t.Errorf("exit code %d, %q, %q", code, stdout, stderr)
	}
	// At any depth.
	stdout, stderr, code = output(t, masters, nest(`other -- "$0" exec k -- echo inner`)...)
	if code != app.ExitUsage || stdout != "" || !strings.HasPrefix(stderr, before) {
		t.Errorf("at a depth of two: exit code %d, %q, %q", code, stdout, stderr)
	}
	stdout, stderr, code = output(t, masters, nest(`--reentrant k -- sh -c 'echo inner of $REDLOCK_KEY, $REDLOCK_HELD; exit 7'`)...)
	if code != 7 || stdout != `inner of k, ["k"]`+"\n" || stderr != "" {
		t.Errorf("reentrant: exit code %d, %q, %q", code, stdout, stderr)
	}
	stdout, stderr, code = output(t, masters, nest(`other -- sh -c 'echo $REDLOCK_KEY, $REDLOCK_HELD'`)...)
	if code != 0 || stdout != `other, ["k","other"]`+"\n" || stderr != "" {
		t.Errorf("another key: exit code %d, %q, %q", code, stdout, stderr)
	}
	// Where nothing is held around it, --reentrant takes the lock.
	stdout, stderr, code = output(t, masters, "exec", "--reentrant", "k", "--", "sh", "-c", "echo $REDLOCK_TOKEN")
	if code != 0 || strings.TrimSpace(stdout) == "" || stderr != "" {
		t.Errorf("alone: exit code %d, %q, %q", code, stdout, stderr)
	}
	free(t, c, "k")

	held := []string{masters[0], exec.HeldVariable + `=["k"]`}
	for args, want := range map[string]string{
		"--json":  "--json: with --reentrant the command replaces exec under the outer lock, so nothing is left to report",
		"--fence": `--fence: the outer exec holds lock "k" without a fencing token`,
	} {
		stdout, stderr, code = output(t, held, "exec", "--reentrant", args, "k", "--", "echo", "inner")
		if code != app.ExitUsage || stdout != "" || stderr != "redlock-demo: "+want+"\n" {
			t.Errorf("%s: exit code %d, %q, %q", args, code, stdout, stderr)
		}
	}
	missing := filepath.Join(t.TempDir(), "none")
	if stdout, _, code = output(t, held, "exec", "--reentrant", "k", "--", missing); code != app.ExitNotFound || stdout != "" {
		t.Errorf("no such command: exit code %d, %q", code, stdout)
	}
	// What is no list of keys says nothing.
	stdout, stderr, code = output(t, append(masters, exec.HeldVariable+"=k"), "exec", "k", "--", "echo", "ran")
	if code != 0 || stdout != "ran\n" || stderr != "" {
		t.Errorf("no list: exit code %d, %q, %q", code, stdout, stderr)
	}
}

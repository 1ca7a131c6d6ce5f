//go:build unix

package main

import (
	"bytes"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/demo"
	"github.com/redquorum/redquorum/cmd/internal/job"
	"github.com/redquorum/redquorum/cmd/internal/testutil"
)

func TestSignalsEndItCleanly(t *testing.T) {
	t.Parallel()
	for signal, code := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		c := testutil.Cluster(t, 3)
		initialize(t, testutil.List(c))
		r := startCommand(t, command(t, nil, "--json", "--ttl", "1m", "--masters", testutil.List(c))) // sells for a while, and nothing expires
		testutil.Eventually(t, "it sells", func() bool {
			done := c.Masters()[0].Commands() // an attempt that queues up begins with a script at the key's pilot
			return done["SET"]+done["EVALSHA"] > 100
		})
		r.signal(t, signal)
		got, want := r.end(t), "ended by "+job.NameOf(signal)
		if doc := testutil.Parse[sale](t, r.stdout.String()); got != code || r.stderr.String() != "redlock-demo: "+want+"\n" ||
			doc.Verdict != string(demo.VerdictInterrupted) || doc.Error != want {
			t.Errorf("%v: exit code %d, %q, %+v", signal, got, r.stderr.String(), doc)
		}
		for _, m := range c.Masters() {
			testutil.Eventually(t, "the master has no key but the fleet's, and no connection", func() bool { return len(leftOn(m))+m.Connections() == 0 })
		}
	}
}

// Until a program asks for SIGQUIT, Go answers it with the stacks of all goroutines.
func TestSIGQUITIsCaughtBeforeSlowPackagesAreInitialized(t *testing.T) {
	t.Parallel()
	cmd := command(t, []string{"GODEBUG=inittrace=1"}, "--version")
	printed, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	made := bytes.Index(printed, []byte("cmd/internal/early @"))
	for _, later := range []string{"internal/script @", "cmd/internal/app @", "github.com/mattn/go-runewidth @"} {
		if at := bytes.Index(printed, []byte(later)); made < 0 || at < made {
			t.Errorf("%q comes before %d, at %d:\n%s", later, made, at, printed)
		}
	}
}

func TestCommandsEndQuietlyWhereNobodyReads(t *testing.T) {
	t.Parallel()
	masters, onReal := testutil.List(testutil.Cluster(t, 3)), addresses(servers(t, 1))
	for _, line := range []string{
		"demo", "--json --masters " + masters,
		"doctor --for 100ms --masters " + masters, "status --watch --masters " + masters + " k", "locks --watch --masters " + onReal, "init --masters " + onReal,
	} {
		cmd := command(t, nil, strings.Fields(line)...)
		var stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = unread(t), &stderr
		if code := codeOf(t, cmd.Run()); code != app.ExitOutput || stderr.String() != "" {
			t.Errorf("%s: exit code %d, %q", line, code, stderr.String())
		}
	}
}

// unread returns a pipe that nobody reads.
func unread(t *testing.T) *os.File {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	_ = read.Close()
	t.Cleanup(func() { _ = write.Close() })
	return write
}

//go:build unix

package main

import (
	"bytes"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/demo"
)

func TestSignalsEndItCleanly(t *testing.T) {
	t.Parallel()
	for signal, code := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		c := cluster(t, 3)
		r := startCommand(t, command(t, nil, "--masters", list(c), "--stock", "500")) // sells for a while
		eventually(t, "it sells", func() bool {
			done := c.Masters()[0].Commands() // an attempt that queues up begins with a script at the key's pilot
			return done["SET"]+done["EVALSHA"] > 100
		})
		r.signal(t, signal)
		if got, want := r.end(t), "redlock-demo: ended by "+signalNames[signal]+"\n"; got != code || r.stderr.String() != want {
			t.Errorf("%v: exit code %d, %q\n%s", signal, got, r.stderr.String(), r.stdout.String())
		}
		for _, m := range c.Masters() {
			eventually(t, "the master has no key but the marker, and no connection", func() bool { return len(m.Keys())-1+m.Connections() == 0 })
		}
	}
}

func TestAnInterruptedRunStillGivesADocument(t *testing.T) {
	t.Parallel()
	c := cluster(t, 3)
	r := startCommand(t, command(t, nil, "--json", "--masters", list(c), "--stock", "500"))
	eventually(t, "it is connected", func() bool { return c.Masters()[0].Connections() > 0 })
	r.signal(t, syscall.SIGINT)
	code := r.end(t)
	if doc := parse[sale](t, r.stdout.String()); code != 130 || doc.Verdict != string(demo.VerdictInterrupted) || doc.Error != "ended by SIGINT" {
		t.Errorf("exit code %d, %+v", code, doc)
	}
}

// What has no reader any more ends soon and quietly.
func TestCommandsEndQuietlyWhereNobodyReads(t *testing.T) {
	t.Parallel()
	masters, onReal := list(cluster(t, 3)), addresses(servers(t, 1))
	for _, line := range []string{
		"demo", "--json --stock 10 --masters " + masters, "chaos", "chaos --json --duration 1s",
		"doctor --for 100ms --masters " + masters, "status --watch --masters " + masters + " k", "locks --watch --masters " + onReal, "init --masters " + onReal,
	} {
		cmd := command(t, nil, strings.Fields(line)...)
		var stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = unread(t), &stderr
		began := time.Now()
		if code := codeOf(t, cmd.Run()); code != exitOutput || stderr.String() != "" || time.Since(began) > 20*time.Second {
			t.Errorf("%s: exit code %d after %v, %q", line, code, time.Since(began), stderr.String())
		}
	}
}

// unread is a pipe that nobody reads.
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

package main

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/redquorum/redquorum/internal/testutil"
)

// unreadable returns a full pipe that nobody reads.
func unreadable(t *testing.T) (read, write *os.File) {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = read.Close(), write.Close() })
	if err := write.SetWriteDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = write.Write(make([]byte, 4096))
	}
	write.Fd() // makes the pipe blocking: writes of other processes wait, and do not fail
	return read, write
}

// Neither the command nor the release of its lock waits for a reader of exec's messages.
func TestExecWorksWhereNobodyReadsTheStandardError(t *testing.T) {
	t.Parallel()
	c := servers(t, 1)
	cmd := command(t, []string{"REDLOCK_MASTERS=" + addresses(c)}, "exec", "--verbose", "k", "--", "echo", "works")
	_, cmd.Stderr = unreadable(t)
	if text, err := cmd.Output(); err != nil || string(text) != "works\n" {
		t.Errorf("%v, %q", err, text)
	}
	free(t, c, "k")
}

// After a loss, SIGTERM does not wait for a reader of exec's messages.
func TestALossEndsTheCommandWhereNobodyReadsTheStandardError(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"while it runs":     `sleep 600 & echo $$ $!; echo ready; wait`,
		"in the background": `sleep 600 & echo $$ $!; echo ready`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := servers(t, 5)
			cmd := command(t, []string{"REDLOCK_MASTERS=" + addresses(c)}, "exec", "--verbose", "--ttl", soon, "k", "--", "sh", "-c", script)
			read, write := unreadable(t)
			r := &running{cmd: cmd}
			cmd.Stdout, cmd.Stderr = &r.stdout, write
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = cmd.Process.Kill() })
			r.stdout.await(t, "ready")
			kill(t, c.Masters[0], c.Masters[1], c.Masters[2])
			pids := r.pids(t)
			if len(pids) != 2 {
				t.Fatalf("%q", r.stdout.String())
			}
			for _, pid := range pids {
				testutil.Eventually(t, fmt.Sprintf("process %d has got SIGTERM", pid), func() bool { return ended(pid) })
			}
			_ = read.Close() // from now on exec's writes fail
			if code := codeOf(t, cmd.Wait()); code != 74 {
				t.Errorf("exit code %d", code)
			}
		})
	}
}

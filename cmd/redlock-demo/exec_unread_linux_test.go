package main

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/redquorum/redquorum/internal/testutil"
)

// unreadable is a full pipe that nobody reads.
func unreadable(t *testing.T) (read, write *os.File) {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = read.Close(), write.Close() })
	fill(t, write)
	return read, write
}

// Neither the command nor the release of its lock waits for somebody to read what exec says.
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

// Nor does SIGTERM wait for it.
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
			_ = read.Close() // now it is told that nobody will ever read
			if code := codeOf(t, cmd.Wait()); code != 74 {
				t.Errorf("exit code %d", code)
			}
		})
	}
}

// fill fills a pipe. It does not make the pipe's other writers impatient, as it would by that
// end.
func fill(t *testing.T, pipe *os.File) {
	t.Helper()
	fd, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", pipe.Fd()), unix.O_WRONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(fd) }()
	for n := 4096; n > 0; {
		if _, err := unix.Write(fd, make([]byte, n)); err != nil {
			n /= 2
		}
	}
}

//go:build unix

package main

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/testutil"
)

// pids returns the numbers that the command has printed.
func (r *running) pids(t *testing.T) []int {
	t.Helper()
	var pids []int
	for _, word := range strings.Fields(r.stdout.String()) {
		if n, err := strconv.Atoi(word); err == nil {
			pids = append(pids, n)
		}
	}
	return pids
}

const hourInMS = "3600000"

func ended(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

func TestExecIsInterruptedWhileItWaits(t *testing.T) {
	t.Parallel()
	c := servers(t, 3)
	do(t, c.Masters, "SET", "k", "of-some-other-client", "PX", hourInMS)
	for s, name := range map[syscall.Signal]string{
		syscall.SIGINT: "SIGINT", syscall.SIGTERM: "SIGTERM", syscall.SIGHUP: "SIGHUP", syscall.SIGQUIT: "SIGQUIT",
		syscall.SIGALRM: "SIGALRM", syscall.SIGUSR1: "SIGUSR1", syscall.SIGBUS: "SIGBUS",
	} {
		r := start(t, c, "--verbose", "k", "--", "echo", "it ran")
		r.stderr.await(t, "waiting")
		r.signal(t, s)
		if code := r.end(t); code != 128+int(s) || !strings.HasSuffix(r.stderr.String(), "redlock-demo: ended by "+name+"\n") || r.stdout.String() != "" {
			t.Errorf("%v: exit code %d, %q\n%s", s, code, r.stdout.String(), r.stderr.String())
		}
	}
	if n := holders(t, c, "k"); n != 3 {
		t.Errorf("%d of 3 masters have what another client has set", n)
	}
}

func TestALossEndsTheWholeGroup(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, grace, script string
		says                string
	}{
		{"by SIGTERM", "1h", `sleep 600 & echo $$ $!; echo ready; wait`, "The command was stopped (SIGTERM)"},
		{"by SIGKILL", "200ms", `trap '' TERM; sleep 600 & echo $$ $!; echo ready; wait`, "The command was stopped (SIGKILL, 200ms after SIGTERM)"},
		{"without grace", "0", `trap 'echo asked' TERM; sleep 600 & echo $$ $!; echo ready; wait`, "The command was stopped (SIGKILL)"},
		{"suspended", "1h", `sleep 600 & echo $$ $!; echo ready; kill -STOP $$`, "The command was stopped (SIGTERM)"},
		{"in the background", "1h", `sleep 600 & echo $$ $!; echo ready`, "The command was sent SIGTERM and ended with exit code 0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := servers(t, 5)
			r := start(t, c, "--ttl", soon, "--grace", test.grace, "k", "--", "sh", "-c", test.script)
			r.stdout.await(t, "ready")
			kill(t, c.Masters[0], c.Masters[1], c.Masters[2])
			code := r.end(t)
			// One line, if the command has ended before exec could report the loss.
			text := strings.Replace(r.stderr.String(), "The command is being stopped.\nredlock-demo: lock \"k\" LOST. ", "", 1)
			if code != 74 || !strings.Contains(text, `redlock-demo: lock "k" LOST: `) || !strings.HasSuffix(text, "). "+test.says+". Another host may hold it now.\n") {
				t.Errorf("exit code %d, %q", code, text)
			}
			for _, s := range c.Masters[:3] {
				if !strings.Contains(text, s.Addr()) {
					t.Errorf("%s is not said to be away: %q", s.Addr(), text)
				}
			}
			if strings.Count(text, "\n") != 1 { // only a terminal shows renewals in trouble
				t.Errorf("more than the loss is told: %q", text)
			}
			if strings.Contains(r.stdout.String(), "asked") {
				t.Error("it got SIGTERM")
			}
			pids := r.pids(t)
			if len(pids) != 2 {
				t.Fatalf("%q", r.stdout.String())
			}
			for _, pid := range pids {
				if !ended(pid) {
					t.Errorf("process %d goes on", pid)
				}
			}
		})
	}
}

func TestAClosedOutputIsTheCommandsOwnAffair(t *testing.T) {
	t.Parallel()
	c := servers(t, 1)
	// SIGPIPE ends yes, as in any shell.
	cmd := command(t, nil, "exec", "k", "--masters", addresses(c), "--", "yes")
	cmd.Stdout = unread(t)
	if code := codeOf(t, cmd.Run()); code != 141 {
		t.Errorf("exit code %d", code)
	}
	// exec does its work even if it cannot print its messages.
	cmd = command(t, nil, "exec", "k", "--verbose", "--masters", addresses(c), "--", "sh", "-c", "exit 3")
	cmd.Stderr = unread(t)
	if code := codeOf(t, cmd.Run()); code != 3 {
		t.Errorf("exit code %d", code)
	}
	free(t, c, "k")
}

// The first attempt does not wait for connections. Connections that take longer than an answer
// may take still get the time that they need.
func TestExecGivesSlowConnectionsTheirTime(t *testing.T) {
	t.Parallel()
	for _, how := range [][]string{{"--try"}, {"--wait", "1m"}} {
		for late := true; late; { // a busy machine may thaw the masters too late
			c := testutil.Cluster(t, 3)
			initialize(t, testutil.List(c))
			for _, m := range c.Masters() {
				m.Freeze() // it accepts connections, and does not answer
			}
			r := startCommand(t, command(t, nil, slices.Concat([]string{"exec", "--masters", testutil.List(c), "--wait-quorum", "0s"}, how, []string{"k", "--", "echo", "it ran"})...))
			began := time.Now()
			testutil.Eventually(t, "exec has connected", func() bool { return c.Masters()[0].Waiting() > 0 })
			time.Sleep(700 * time.Millisecond) // twice as long as an attempt
			for _, m := range c.Masters() {
				m.Thaw()
			}
			late = time.Since(began) > 1200*time.Millisecond
			if code := r.end(t); !late && (code != 0 || r.stdout.String() != "it ran\n") {
				t.Errorf("%q: exit code %d, %q", how, code, r.stderr.String())
			}
		}
	}
}

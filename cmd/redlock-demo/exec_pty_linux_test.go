package main

import (
	"errors"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/redquorum/redquorum/internal/redistest"
)

// execOnTerminal starts exec on a terminal, in the place of a shell.
func execOnTerminal(t *testing.T, c *redistest.Cluster, script string) *terminal {
	t.Helper()
	return onTerminal(t, command(t, nil, "exec", "--masters", addresses(c), "k", "--", "sh", "-c", script))
}

func TestCtrlCIsTheCommands(t *testing.T) {
	t.Parallel()
	c := servers(t, 1)
	term := execOnTerminal(t, c, `trap 'echo caught; exit 7' INT; echo ready; while :; do sleep 0.01; done`)
	term.await(t, "ready")
	term.press(t, ctrlC)
	code, text := term.end(t)
	if code != 7 || strings.Count(text, "caught") != 1 {
		t.Errorf("exit code %d\n%q", code, text)
	}
	free(t, c, "k")
}

// interactive starts a script on a terminal, in a shell with job control.
func interactive(t *testing.T, c *redistest.Cluster, script string) *terminal {
	t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skipf("needs a shell with job control: %v", err)
	}
	cmd := command(t, []string{"DEMO=" + binary, "REDLOCK_MASTERS=" + addresses(c)})
	cmd.Path, cmd.Args = bash, []string{"bash", "--norc", "-c", "set -m; " + script}
	return onTerminal(t, cmd)
}

const ctrlZ = "\x1a"

func TestCtrlZSuspendsBothAndTheShellContinuesThem(t *testing.T) {
	t.Parallel()
	c := servers(t, 1)
	term := interactive(t, c, `"$DEMO" exec --ttl 1m k -- sh -c 'echo ready; read line; echo "read $line"; exit 3'
		echo "stopped: $?"; fg; echo "ended: $?"`)
	term.await(t, "ready")
	term.press(t, ctrlZ)
	term.await(t, "stopped: ")
	term.press(t, "hello\n") // may come before fg: the terminal keeps it
	term.await(t, "ended: 3")
	if _, text := term.end(t); !strings.Contains(text, "read hello") {
		t.Errorf("%q", text)
	}
	free(t, c, "k")
}

func TestASuspendedCommandDoesNotGoOnWithoutItsLock(t *testing.T) {
	t.Parallel()
	c := servers(t, 1)
	// It waits without starting anything: a shell that is suspended between vfork
	// and exec is never seen to stop.
	term := interactive(t, c, `"$DEMO" exec --ttl 500ms k -- sh -c 'trap "printf w%s ent" CONT; echo ready; while :; do :; done'
		echo "stopped: $?"; read line; fg; echo "ended: $?"`)
	term.await(t, "ready")
	term.press(t, ctrlZ)
	term.await(t, "stopped: ")
	free(t, c, "k") // it expires
	term.press(t, "go on\n")
	term.await(t, "ended: 74")
	if _, text := term.end(t); strings.Contains(text, "went") || !strings.Contains(text, "The command was stopped (SIGTERM)") ||
		!strings.Contains(text, `lock "k" LOST: suspended for `) {
		t.Errorf("%q", text)
	}
}

func TestACommandInAPipelineMayReadFromTheTerminal(t *testing.T) {
	t.Parallel()
	c := servers(t, 1)
	term := interactive(t, c, `"$DEMO" exec k -- sh -c 'echo ready; read line; echo "read $line"' | cat; echo "ended: ${PIPESTATUS[0]}"`)
	term.await(t, "ready")
	term.press(t, "hello\n")
	term.await(t, "ended: 0")
	if _, text := term.end(t); !strings.Contains(text, "read hello") {
		t.Errorf("%q", text)
	}
}

// Whoever looks on is told, in time to do something, and told that it is over.
func TestATerminalIsToldOfRenewalsInTrouble(t *testing.T) {
	t.Parallel()
	c := servers(t, 3)
	term := onTerminalOf(t, 200, command(t, nil, "exec", "--masters", addresses(c), "--ttl", "20s", "k", "--", "sh", "-c", "echo ready; read line"))
	term.await(t, "ready")
	if err := errors.Join(c.Masters[0].Freeze(), c.Masters[1].Freeze()); err != nil {
		t.Fatal(err)
	}
	term.await(t, `redlock-demo: renewal of "k" is in trouble: `)
	term.await(t, " unless it succeeds\r\n")
	if err := errors.Join(c.Masters[0].Thaw(), c.Masters[1].Thaw()); err != nil {
		t.Fatal(err)
	}
	term.await(t, `redlock-demo: renewal of "k" works again`+"\r\n")
	term.press(t, "\n")
	code, text := term.end(t)
	told := regexp.MustCompile(`(?m)^redlock-demo: renewal of "k" is in trouble: 2 of 3 masters do not answer \(([\d.:]+), ([\d.:]+)\); the lock ends at \d\d:\d\d:\d\d unless it succeeds\r$`).FindAllStringSubmatch(text, -1)
	if code != 0 || len(told) != 1 || told[0][1] != c.Masters[0].Addr() || told[0][2] != c.Masters[1].Addr() || strings.Count(text, "works again") != 1 {
		t.Errorf("exit code %d\n%s", code, text)
	}
}

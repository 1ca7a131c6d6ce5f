package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Where exec has lent the terminal, only the command gets SIGINT. The script must end all the same.
func TestCtrlCEndsTheScriptAroundExec(t *testing.T) {
	t.Parallel()
	c := servers(t, 1)
	do(t, c.Masters, "SET", "held", "other", "PX", hourInMS)
	for name, step := range map[string]string{
		"a command":              `"$DEMO" exec k -- sh -c 'echo ready; exec sleep 600'`,
		"a command in a shell":   `"$DEMO" exec k -- sh -c 'echo ready; sleep 600; :'`,
		"a pipeline":             `"$DEMO" exec p -- sh -c 'echo ready; exec sleep 600' | cat`,
		"waiting":                `echo ready; "$DEMO" exec held -- true`,
		"waiting, with a report": `echo ready; "$DEMO" exec --json held -- true`,
		"status":                 `echo ready; "$DEMO" status --watch held`,
	} {
		for _, shell := range []string{"bash", "dash"} {
			t.Run(name+" in "+shell, func(t *testing.T) {
				t.Parallel()
				path, err := exec.LookPath(shell)
				if err != nil {
					t.Skip(err)
				}
				cmd := command(t, []string{"DEMO=" + binary, "REDLOCK_MASTERS=" + addresses(c)})
				cmd.Path, cmd.Args = path, []string{shell, "-c", "for i in 1 2; do " + step + "; echo next step; done; echo next step"}
				term := onTerminal(t, cmd)
				term.await(t, "ready")
				time.Sleep(200 * time.Millisecond) // exec waits by now, or the signal comes early
				term.press(t, ctrlC)
				if code, text := term.end(t); code != 130 || strings.Contains(text, "next step") {
					t.Errorf("exit code %d\n%q", code, text)
				}
			})
		}
	}
}

// A command that catches SIGINT and exits has handled Ctrl-C.
func TestAScriptGoesOnWhereTheCommandDealsWithCtrlC(t *testing.T) {
	t.Parallel()
	c := servers(t, 1)
	cmd := command(t, []string{"DEMO=" + binary, "REDLOCK_MASTERS=" + addresses(c)})
	cmd.Path, cmd.Args = "/bin/sh", []string{"sh", "-c", `"$DEMO" exec k -- sh -c 'trap "echo caught; exit 7" INT; echo ready; while :; do sleep 0.01; done'; echo "next step: $?"`}
	term := onTerminal(t, cmd)
	term.await(t, "ready")
	term.press(t, ctrlC)
	if code, text := term.end(t); code != 0 || !strings.Contains(text, "next step: 7") || strings.Count(text, "caught") != 1 {
		t.Errorf("exit code %d\n%q", code, text)
	}
	free(t, c, "k")
}

func TestExecEndsByTheSignalThatHasEndedItsCommand(t *testing.T) {
	t.Parallel()
	c := servers(t, 1)
	for signal, dies := range map[syscall.Signal]bool{
		syscall.SIGINT: true, syscall.SIGTERM: true, syscall.SIGHUP: true, syscall.SIGQUIT: false, syscall.SIGKILL: false, syscall.SIGUSR1: false,
	} {
		for _, wrapper := range []string{"", "nohup"} {
			cmd := command(t, []string{"REDLOCK_MASTERS=" + addresses(c)}, "exec", "k", "--", "sh", "-c", "kill -"+unix.SignalName(signal)[3:]+" $$")
			if wrapper != "" { // nohup ignores SIGHUP, so sh cannot die of it
				if signal == syscall.SIGHUP {
					continue
				}
				cmd.Path, cmd.Args = lookPath(t, wrapper), append([]string{wrapper}, cmd.Args...)
			}
			err := cmd.Run()
			status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
			if codeOf(t, err) != 128+int(signal) || status.Signaled() != dies {
				t.Errorf("%q %v: %v", wrapper, signal, err)
			}
		}
	}
}

func lookPath(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skip(err)
	}
	return path
}

// A signal ends exec at any moment of its start.
func TestNoEarlySignalIsLost(t *testing.T) {
	t.Parallel()
	c := servers(t, 1)
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		for after := range 20 {
			r := start(t, c, "k", "--", "sleep", "0.3")
			time.Sleep(time.Duration(after) * time.Millisecond)
			r.signal(t, signal)
			if code := r.end(t); code != 128+int(signal) {
				t.Errorf("%v after %d ms: exit code %d, %q", signal, after, code, r.stderr.String())
			}
		}
	}
}

func fifo(t *testing.T) string {
	t.Helper()
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	return pipe
}

func TestSignalEndsACommandThatReadsAPipeWithoutAWriter(t *testing.T) {
	t.Parallel()
	c := servers(t, 1)
	pipe := fifo(t)
	for _, flag := range []string{"--config", "--password-file"} {
		r := start(t, c, flag, pipe, "k", "--", "true")
		time.Sleep(100 * time.Millisecond) // if it does not read yet, the signal comes early
		r.signal(t, syscall.SIGTERM)
		if code := r.end(t); code != 143 {
			t.Errorf("%s: exit code %d, %q", flag, code, r.stderr.String())
		}
	}
}

// timeout signals its child, and then the group of both. At a second SIGTERM some do not clean up.
func TestTimeoutsTwoSignalsAreOneToTheCommand(t *testing.T) {
	t.Parallel()
	needs(t, "timeout", "bash")
	c := servers(t, 1)
	cmd := command(t, []string{"REDLOCK_MASTERS=" + addresses(c)})
	cmd.Args = append([]string{"timeout", "4", binary}, "exec", "k", "--", "bash", "-c",
		`trap 'echo asked; asked=1' TERM; for ((n = 0; n < 100; n += asked)); do read -t 0.01 <>"$0"; done`, fifo(t))
	cmd.Path = lookPath(t, "timeout")
	r := startCommand(t, cmd)
	if code := r.end(t); code != 124 || r.stdout.String() != "asked\n" {
		t.Errorf("exit code %d, %q", code, r.stdout.String())
	}
}

// A pager at the end of the pipeline may read from the terminal that exec has lent. Then the kernel
// sends SIGTTIN to the pager's group, which is exec's own. A stopped exec would lose its lock.
func TestExecRenewsWhereAnotherOfItsGroupReadsFromTheTerminal(t *testing.T) {
	t.Parallel()
	c := servers(t, 1)
	cmd := command(t, []string{"REDLOCK_MASTERS=" + addresses(c)}, "exec", "--ttl", soon, "--verbose", "k", "--", "sleep", "600")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a group that the kernel stops
	r := startCommand(t, cmd)
	r.stderr.awaitRenewals(t, 1)
	r.signal(t, syscall.SIGTTIN)
	r.stderr.awaitRenewals(t, 2) // one may have begun before
	r.signal(t, syscall.SIGTERM)
	if code := r.end(t); code != 143 {
		t.Errorf("exit code %d, %q", code, r.stderr.String())
	}
}

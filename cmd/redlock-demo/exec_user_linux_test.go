package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"testing"

	"github.com/redquorum/redquorum/cmd/internal/testutil"
)

// asRoot is a variable with a script. This program then becomes root, as sudo does, and runs it.
const asRoot = "REDLOCK_TEST_AS_ROOT"

func init() {
	if script := os.Getenv(asRoot); script != "" {
		err := syscall.Setuid(0)
		if err == nil {
			err = syscall.Exec("/bin/sh", []string{"sh", "-c", script}, os.Environ())
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// nobody is a user with a sudo. The script of command says what sudo runs.
type nobody struct{ demo, sudo string }

func newNobody(t *testing.T) nobody {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to run exec as somebody else")
	}
	dir := t.TempDir()
	n := nobody{demo: filepath.Join(dir, "redlock-demo"), sudo: filepath.Join(dir, "sudo")}
	for from, to := range map[string]string{binary: n.demo, os.Args[0]: n.sudo} {
		program, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(to, program, 0o700)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, mode := range map[string]os.FileMode{filepath.Dir(dir): 0o755, dir: 0o755, n.demo: 0o755, n.sudo: 0o755 | os.ModeSetuid} {
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// command returns a command that this user runs. Its sudo runs script.
func (n nobody) command(t *testing.T, env []string, script string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := command(t, append(env, asRoot+"="+script, "SUDO="+n.sudo, "DEMO="+n.demo), args...)
	cmd.Path = n.demo
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	return cmd
}

const goesOn = `redlock-demo: pid \d+ \((sh|sleep|sudo)\) runs as another user and goes on\n`

// hidden makes a command see no processes of other users.
func hidden(t *testing.T, cmd *exec.Cmd) *exec.Cmd {
	t.Helper()
	needs(t, "unshare", "setpriv")
	const mount = "mount -t proc -o hidepid=2 proc /proc && "
	if out, err := exec.Command("unshare", "-m", "sh", "-c", mount+"true").CombinedOutput(); err != nil {
		t.Skipf("/proc cannot be mounted: %v, %s", err, out)
	}
	cmd.Args = append([]string{"unshare", "-m", "sh", "-c", mount + `exec setpriv --reuid 65534 --regid 65534 --clear-groups "$DEMO" "$@"`}, cmd.Args...)
	cmd.Path, cmd.SysProcAttr = lookPath(t, "unshare"), nil
	return cmd
}

// exec knows the process group of a process that /proc hides.
func TestExecWaitsForProcessesHiddenByProc(t *testing.T) {
	t.Parallel()
	n, c, w := newNobody(t), servers(t, 1), newWorkplace(t)
	env := append(w.environment(), "REDLOCK_MASTERS="+addresses(c))
	for key, lost := range map[string]bool{"k": false, "l": true} {
		log := filepath.Join(w.dir, key)
		r := startCommand(t, hidden(t, n.command(t, env, `echo $$ >`+log+`; exec sleep 600 >/dev/null 2>&1`,
			"exec", "--ttl", soon, "--grace", "100ms", "--verbose", key, "--", "sh", "-c", `"$SUDO"; :`)))
		var pid int
		testutil.Eventually(t, "it works", func() (ok bool) {
			text, _ := os.ReadFile(log)
			_, err := fmt.Sscanln(string(text), &pid)
			return err == nil
		})
		defer func() { _ = syscall.Kill(pid, syscall.SIGKILL) }()
		if lost {
			do(t, c.Masters, "SET", key, "other", "PX", hourInMS)
		} else {
			r.signal(t, syscall.SIGTERM)
			r.stderr.await(t, "still locked, until this has ended: process group ")
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if code, text := r.end(t), r.stderr.String(); code != map[bool]int{false: 143, true: 74}[lost] || lost != regexp.MustCompile(`process group \d+ runs as another user and was not stopped`).MatchString(text) {
			t.Errorf("exit code %d, %q", code, text)
		}
	}
}

// The kernel lets exec send no signal to a process of another user.
func TestExecWaitsForProcessesOfOtherUsers(t *testing.T) {
	t.Parallel()
	n, c, w := newNobody(t), servers(t, 1), newWorkplace(t)
	env := append(w.environment(), "REDLOCK_MASTERS="+addresses(c))
	first := startCommand(t, n.command(t, env, `echo "begin A" >>"$LOG"; until [ -e "$LOG.over" ]; do sleep 0.01; done; echo "end A" >>"$LOG"`,
		"exec", "--verbose", "--ttl", soon, "k", "--", "sh", "-c", `"$SUDO"; :`))
	w.await(t, "begin-A")
	next := startCommand(t, command(t, env, "exec", "k", "--", "work", "B", "0.01"))
	first.signal(t, syscall.SIGTERM)
	first.stderr.await(t, "goes on\n") // at once, not at the end
	first.stderr.awaitRenewals(t, 2)
	w.script(t, "log.over", "")
	if code := next.end(t); code != 0 {
		t.Errorf("exit code %d, %q", code, next.stderr.String())
	}
	if code, text := first.end(t), first.stderr.String(); code != 143 || !regexp.MustCompile(`(?m)^`+goesOn).MatchString(text) {
		t.Errorf("exit code %d, %q", code, text)
	}
	w.check(t, 2)
}

func TestAfterALossExecDoesNotWaitForProcessesOfOtherUsers(t *testing.T) {
	t.Parallel()
	n, c := newNobody(t), servers(t, 1)
	r := startCommand(t, n.command(t, []string{"REDLOCK_MASTERS=" + addresses(c)}, `echo $$; exec sleep 600 >/dev/null 2>&1`,
		"exec", "--ttl", soon, "--grace", "1h", "k", "--", "sh", "-c", `"$SUDO"; :`))
	testutil.Eventually(t, "it works", func() bool { return len(r.pids(t)) == 1 })
	pid := r.pids(t)[0]
	defer func() { _ = syscall.Kill(pid, syscall.SIGKILL) }()
	do(t, c.Masters, "SET", "k", "other", "PX", hourInMS)
	code := r.end(t)
	want := regexp.MustCompile(`^redlock-demo: lock "k" LOST: held by somebody else. The command is being stopped.\n` +
		goesOn + `redlock-demo: lock "k" LOST. pid ` + strconv.Itoa(pid) + ` \((sh|sleep)\) runs as another user and was not stopped. Another host may hold it now.\n$`)
	if text := r.stderr.String(); code != 74 || !want.MatchString(text) {
		t.Errorf("exit code %d, %q", code, text)
	}
	if ended(pid) {
		t.Error("it was ended")
	}
}

// A process that exec may not suspend would go on without renewals.
func TestExecIsNotSuspendedWhileAProcessOfAnotherUserRuns(t *testing.T) {
	t.Parallel()
	needs(t, "bash")
	n, c := newNobody(t), servers(t, 1)
	cmd := n.command(t, []string{"REDLOCK_MASTERS=" + addresses(c)}, `echo "ready $$"; exec sleep 600`)
	cmd.Path, cmd.Args = "/bin/bash", []string{"bash", "--norc", "-c",
		`set -m; "$DEMO" exec --ttl ` + soon + ` --verbose k -- bash -c 'set -m; "$SUDO" & read line; exit 3'; echo "ended: $?"`}
	term := onTerminalOf(t, 200, cmd)
	term.await(t, "ready ")
	term.press(t, ctrlZ)
	term.await(t, "runs as another user and cannot be suspended")
	term.awaitRenewals(t, 2)
	term.press(t, "\n")
	pid, err := strconv.Atoi(regexp.MustCompile(`ready (\d+)`).FindStringSubmatch(term.String())[1])
	if err != nil {
		t.Fatal(err)
	}
	term.await(t, "still locked")
	_ = syscall.Kill(pid, syscall.SIGKILL)
	term.await(t, "ended: 3")
	term.end(t)
}

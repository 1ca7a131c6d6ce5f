package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/redquorum/redquorum/cmd/internal/testutil"
)

// A workplace has a log of when commands begin and end. The work of two commands must not overlap.
type workplace struct{ dir string }

func newWorkplace(t *testing.T) workplace {
	t.Helper()
	w := workplace{dir: t.TempDir()}
	// After a signal, work goes on for a while, like a program that cleans up.
	w.script(t, "work", `#!/bin/sh
trap 'sleep 0.4; echo "end $1" >>"$LOG"; exit 0' TERM HUP
echo "begin $1" >>"$LOG"
[ "$2" ] && sleep "$2" && echo "end $1" >>"$LOG" && exit
while :; do sleep 0.02; done
`)
	return w
}

func (w workplace) script(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}

func (w workplace) environment() []string {
	return []string{"LOG=" + filepath.Join(w.dir, "log"), "PATH=" + w.dir + ":" + os.Getenv("PATH")}
}

func (w workplace) lines() []string {
	text, _ := os.ReadFile(filepath.Join(w.dir, "log"))
	return strings.Fields(strings.ReplaceAll(string(text), " ", "-"))
}

func (w workplace) await(t *testing.T, line string) {
	t.Helper()
	testutil.Eventually(t, line, func() bool { return strings.Contains(" "+strings.Join(w.lines(), " ")+" ", " "+line+" ") })
}

// check reports work of two commands at once, and work that has not ended.
func (w workplace) check(t *testing.T, want int) {
	t.Helper()
	lines := w.lines()
	for i := 0; i+1 < len(lines); i += 2 {
		name, begins := strings.CutPrefix(lines[i], "begin-")
		if !begins || lines[i+1] != "end-"+name {
			t.Errorf("%s: not one after the other", lines)
			return
		}
	}
	if len(lines) != 2*want {
		t.Errorf("%s: want the work of %d", lines, want)
	}
}

func needs(t *testing.T, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			t.Skipf("needs %s: %v", p, err)
		}
	}
}

// The lock is released only after all has ended that the command has started, in any process group.
func TestLockIsHeldUntilProcessesInOtherGroupsEnd(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"timeout":     `timeout 1h work A; :`,
		"job control": `set -m; work A & wait`,
		"two of them": `timeout 1h sh -c "timeout 1h work A; :"; :`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			needs(t, "bash", "timeout")
			c, w := servers(t, 1), newWorkplace(t)
			env := append(w.environment(), "REDLOCK_MASTERS="+addresses(c))
			first := startCommand(t, command(t, env, "exec", "k", "--", "bash", "-c", script))
			w.await(t, "begin-A")
			next := startCommand(t, command(t, env, "exec", "k", "--", "work", "B", "0.01"))
			first.signal(t, syscall.SIGTERM)
			if code := next.end(t); code != 0 {
				t.Errorf("exit code %d, %q", code, next.stderr.String())
			}
			if code := first.end(t); code != 143 {
				t.Errorf("exit code %d, %q", code, first.stderr.String())
			}
			w.check(t, 2)
		})
	}
}

func TestLossEndsProcessesInOtherGroups(t *testing.T) {
	t.Parallel()
	needs(t, "bash", "timeout")
	for grace, muted := range map[string]string{"1h": "", "100ms": "trap '' TERM; "} {
		c, w := servers(t, 1), newWorkplace(t)
		env := append(w.environment(), "REDLOCK_MASTERS="+addresses(c))
		r := startCommand(t, command(t, env, "exec", "--ttl", soon, "--grace", grace, "k", "--", "bash", "-c",
			muted+`set -m; timeout 1h sh -c "echo \$\$; exec sleep 600" & echo $! $$; echo ready; wait`))
		r.stdout.await(t, "ready")
		testutil.Eventually(t, "all have said who they are", func() bool { return len(r.pids(t)) == 3 })
		do(t, c.Masters, "SET", "k", "other", "PX", hourInMS)
		if code := r.end(t); code != 74 {
			t.Errorf("exit code %d, %q", code, r.stderr.String())
		}
		for _, pid := range r.pids(t) {
			if !ended(pid) {
				t.Errorf("process %d goes on", pid)
			}
		}
	}
}

// Each link starts the next one in a group of its own and ends.
func TestAChainOfProcessesCannotHideFromExec(t *testing.T) {
	t.Parallel()
	needs(t, "bash")
	c, w := servers(t, 1), newWorkplace(t)
	w.script(t, "chain", `#!/bin/bash
if [ $1 = 0 ]; then echo "end A" >>"$LOG"; exit; fi
set -m
chain $(($1 - 1)) &
`)
	env := append(w.environment(), "REDLOCK_MASTERS="+addresses(c))
	first := startCommand(t, command(t, env, "exec", "k", "--", "sh", "-c", `echo "begin A" >>"$LOG"; chain 100`))
	w.await(t, "begin-A")
	if _, stderr, code := output(t, env, "exec", "k", "--", "work", "B", "0.01"); code != 0 {
		t.Errorf("exit code %d, %q", code, stderr)
	}
	if code := first.end(t); code != 0 {
		t.Errorf("exit code %d, %q", code, first.stderr.String())
	}
	w.check(t, 2)
}

// exec has seen the process in its session before it leaves, like a daemon that starts slowly.
func TestExecDoesNotWaitForProcessesThatLeaveTheSession(t *testing.T) {
	t.Parallel()
	needs(t, "setsid")
	c := servers(t, 1)
	r := start(t, c, "k", "--", "sh", "-c", "(sleep 1; exec setsid sleep 600) >/dev/null 2>&1 & echo $!")
	code := r.end(t)
	pids := r.pids(t)
	if code != 0 || len(pids) != 1 || ended(pids[0]) {
		t.Fatalf("exit code %d, the daemon is %v", code, pids)
	}
	_ = syscall.Kill(pids[0], syscall.SIGKILL)
	if want := "1 left the session and may go on without the lock: pid " + strconv.Itoa(pids[0]); !strings.Contains(r.stderr.String(), want) {
		t.Errorf("%q, want %q", r.stderr.String(), want)
	}
	free(t, c, "k")
}

// A shell that becomes exec leaves its own children to it, in its group and in others.
func TestExecDoesNotWaitForChildrenFromBeforeItsStart(t *testing.T) {
	t.Parallel()
	needs(t, "bash")
	c := servers(t, 1)
	cmd := command(t, []string{"DEMO=" + binary, "REDLOCK_MASTERS=" + addresses(c)})
	cmd.Path, cmd.Args = "/bin/bash", []string{"bash", "-c",
		`set -m; sleep 600 >/dev/null 2>&1 & echo $!; exec > >(sh -c "cat; :"); exec "$DEMO" exec k -- echo ran`}
	r := startCommand(t, cmd)
	code, pids := r.end(t), r.pids(t)
	if code != 0 || r.stderr.String() != "" || len(pids) != 1 || ended(pids[0]) || !strings.HasSuffix(r.stdout.String(), "\nran\n") {
		t.Errorf("exit code %d, %q, %q", code, r.stdout.String(), r.stderr.String())
	}
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// Such a child may also leave a process behind while the command runs. exec then gets an orphan.
func TestExecDoesNotWaitForOrphansOfChildrenFromBeforeItsStart(t *testing.T) {
	t.Parallel()
	needs(t, "bash")
	c := servers(t, 1)
	pid := filepath.Join(t.TempDir(), "pid")
	cmd := command(t, []string{"DEMO=" + binary, "REDLOCK_MASTERS=" + addresses(c), "PID=" + pid})
	cmd.Path, cmd.Args = "/bin/bash", []string{"bash", "-c", `sh -c 'sleep 0.5; sleep 60 >&- 2>&- & echo $! >$PID' &
exec "$DEMO" exec k -- sh -c 'until [ -s $PID ]; do sleep 0.05; done; sleep 0.2'`}
	r := startCommand(t, cmd)
	code := r.end(t)
	text, err := os.ReadFile(pid)
	if err != nil {
		t.Fatal(err)
	}
	orphan, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || ended(orphan) || code != 0 || r.stderr.String() != "" {
		t.Errorf("exit code %d, %q; the orphan %q has ended: %t", code, r.stderr.String(), text, ended(orphan))
	}
	_ = syscall.Kill(orphan, syscall.SIGKILL)
}

// A daemon keeps the environment of the lock under which it was started.
func TestEnvironmentOfAFormerLockDoesNotGrantTheLock(t *testing.T) {
	t.Parallel()
	c, w := servers(t, 1), newWorkplace(t)
	env := append(w.environment(), "DEMO="+binary, "REDLOCK_MASTERS="+addresses(c))
	later := `"$DEMO" exec k -- work LATER 0.01`
	daemon := startCommand(t, command(t, env, "exec", "k", "--", "sh", "-c",
		later+`; echo "refused: $?"; setsid sh -c 'until [ -e "$LOG" ]; do sleep 0.01; done; `+later+`' & exit 0`))
	daemon.stdout.await(t, "refused")
	free(t, c, "k") // exec does not wait for what has left the session
	holder := startCommand(t, command(t, env, "exec", "k", "--", "work", "HOLDER", "0.5"))
	w.await(t, "end-LATER")
	if code := holder.end(t); code != 0 {
		t.Errorf("exit code %d, %q", code, holder.stderr.String())
	}
	w.check(t, 2)
	if code, text := daemon.end(t), daemon.stdout.String(); code != 0 || text != "refused: 64\n" {
		t.Errorf("exit code %d, %q, %q", code, text, daemon.stderr.String())
	}
}

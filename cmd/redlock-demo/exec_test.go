//go:build unix

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/rig"
)

// pids are the numbers that the command has printed.
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

// A process's environment does not change.
func TestHelpAndPageSayThatValidUntilIsAsOfTheStart(t *testing.T) {
	t.Parallel()
	help, stderr, code := output(t, nil, "exec", "--help")
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "exec.md"))
	if err != nil || code != 0 || stderr != "" {
		t.Fatal(err, code, stderr)
	}
	for name, text := range map[string]string{"the help": help, "docs/reference/exec.md": string(page)} {
		if !strings.Contains(strings.Join(strings.Fields(text), " "), "as of the start of the command") {
			t.Errorf("%s does not say it", name)
		}
	}
}

func TestExecRenewsWhileTheCommandRuns(t *testing.T) {
	t.Parallel()
	c := servers(t, 3)
	r := start(t, c, "--ttl", "1s", "--verbose", "k", "--", "sh", "-c", `echo $REDLOCK_TOKEN; read line`)
	r.stderr.await(t, `renewed "k", 4 so far`) // which is longer than the TTL
	token := strings.TrimSpace(r.stdout.String())
	rig.Eventually(t, "a quorum has the token", func() bool {
		return value(t, c.Masters[0], "k") == token && value(t, c.Masters[1], "k") == token
	})
	r.say(t, "")
	code := r.end(t)
	text := r.stderr.String()
	if code != 0 || !strings.HasPrefix(text, `redlock-demo: locked "k" after `) || !strings.Contains(text, `redlock-demo: unlocked "k", held for `) {
		t.Errorf("exit code %d\n%s", code, text)
	}
	free(t, c, "k")
}

func TestExecWaitsForTheHolder(t *testing.T) {
	t.Parallel()
	c := servers(t, 3)
	first := start(t, c, "--owner", "first", "k", "--", "sh", "-c", "echo has it; read line; echo gives it")
	first.stdout.await(t, "has it")
	second := start(t, c, "--verbose", "k", "--", "echo", "has it")
	second.stderr.await(t, `redlock-demo: waiting for lock "k", held by "first"`+"\n")
	if second.stdout.String() != "" {
		t.Error("two have it")
	}
	first.say(t, "")
	if code := first.end(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if code := second.end(t); code != 0 || second.stdout.String() != "has it\n" {
		t.Errorf("exit code %d, %q\n%s", code, second.stdout.String(), second.stderr.String())
	}
}

func TestExecIsInterruptedWhileItWaits(t *testing.T) {
	t.Parallel()
	c := servers(t, 3)
	do(t, c.Masters, "SET", "k", "of-some-other-client", "PX", hourInMS)
	for s, name := range map[syscall.Signal]string{
		syscall.SIGINT: "SIGINT", syscall.SIGTERM: "SIGTERM", syscall.SIGHUP: "SIGHUP", syscall.SIGQUIT: "SIGQUIT",
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

func TestExecForwardsSignals(t *testing.T) {
	t.Parallel()
	c := servers(t, 1)
	for s, name := range map[syscall.Signal]string{
		syscall.SIGINT: "INT", syscall.SIGTERM: "TERM", syscall.SIGHUP: "HUP", syscall.SIGQUIT: "QUIT",
		syscall.SIGUSR1: "USR1", syscall.SIGUSR2: "USR2",
	} {
		script := fmt.Sprintf(`trap 'echo caught %[1]s; exit 7' %[1]s; echo ready; while :; do sleep 0.01; done`, name)
		r := start(t, c, "k"+name, "--", "sh", "-c", script)
		r.stdout.await(t, "ready")
		r.signal(t, s)
		if code := r.end(t); code != 7 || r.stdout.String() != "ready\ncaught "+name+"\n" {
			t.Errorf("%s: exit code %d, %q, %q", name, code, r.stdout.String(), r.stderr.String())
		}
		free(t, c, "k"+name)
	}
}

func TestExecLeavesToTheCommandWhatASignalMeans(t *testing.T) {
	t.Parallel()
	c := servers(t, 1)
	r := start(t, c, "k", "--", "sh", "-c", `trap 'echo caught' TERM; echo ready; while ! read line; do :; done; echo "$line"`)
	r.stdout.await(t, "ready")
	r.signal(t, syscall.SIGTERM)
	r.stdout.await(t, "caught")
	if holders(t, c, "k") != 1 {
		t.Error("the lock was given back before the command has ended")
	}
	r.say(t, "goes on")
	if code := r.end(t); code != 0 || !strings.HasSuffix(r.stdout.String(), "goes on\n") {
		t.Errorf("exit code %d, %q", code, r.stdout.String())
	}
}

func TestASignalReachesTheWholeGroup(t *testing.T) {
	t.Parallel()
	c := servers(t, 1)
	r := start(t, c, "k", "--", "sh", "-c", `sleep 600 & echo $$ $!; echo ready; wait`)
	r.stdout.await(t, "ready")
	r.signal(t, syscall.SIGTERM)
	if code := r.end(t); code != 143 {
		t.Errorf("exit code %d", code)
	}
	for _, pid := range r.pids(t) {
		if !ended(pid) {
			t.Errorf("process %d goes on", pid)
		}
	}
}

func TestWhatIsIgnoredStaysIgnored(t *testing.T) {
	t.Parallel()
	c := servers(t, 1)
	cmd := command(t, []string{"REDLOCK_MASTERS=" + addresses(c)})
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	// As nohup does it, and a shell with a command in the background.
	cmd.Path = sh
	cmd.Args = []string{"sh", "-c", `trap '' HUP INT; exec "$0" exec k -- sh -c 'echo ready; read line; echo done'`, binary}
	r := startCommand(t, cmd)
	r.stdout.await(t, "ready")
	r.signal(t, syscall.SIGHUP)
	r.signal(t, syscall.SIGINT)
	r.say(t, "")
	if code := r.end(t); code != 0 || r.stdout.String() != "ready\ndone\n" {
		t.Errorf("exit code %d, %q, %q", code, r.stdout.String(), r.stderr.String())
	}
}

// lossAndEnd is what exec says of a loss in one line, as where the command has ended before
// the loss could be said.
func lossAndEnd(text string) string {
	return strings.Replace(text, "The command is being stopped.\nredlock-demo: lock \"k\" LOST. ", "", 1)
}

func TestALossEndsTheWholeGroup(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, grace, script string
		says                string
	}{
		{"by SIGTERM", "1h", `sleep 600 & echo $$ $!; echo ready; wait`, "The command was stopped (SIGTERM)"},
		{"in its own way", "1h", `trap 'echo cleaned up; exit 0' TERM; sleep 600 & echo $$ $!; echo ready; wait`,
			"The command was sent SIGTERM and ended with exit code 0"},
		{"by SIGKILL", "200ms", `trap '' TERM; sleep 600 & echo $$ $!; echo ready; wait`, "The command was stopped (SIGKILL, 200ms after SIGTERM)"},
		{"without grace", "0", `trap 'echo asked' TERM; sleep 600 & echo $$ $!; echo ready; wait`, "The command was stopped (SIGKILL)"},
		{"suspended", "1h", `sleep 600 & echo $$ $!; echo ready; kill -STOP $$`, "The command was stopped (SIGTERM)"},
		{"in the background", "1h", `sleep 600 & echo $$ $!; echo ready`, "The command was sent SIGTERM and ended with exit code 0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := servers(t, 5)
			r := start(t, c, "--ttl", "1s", "--grace", test.grace, "k", "--", "sh", "-c", test.script)
			r.stdout.await(t, "ready")
			kill(t, c.Masters[0], c.Masters[1], c.Masters[2])
			code := r.end(t)
			text := lossAndEnd(r.stderr.String())
			if code != 74 || !strings.Contains(text, `redlock-demo: lock "k" LOST: `) || !strings.HasSuffix(text, "). "+test.says+". Another host may hold it now.\n") {
				t.Errorf("exit code %d, %q", code, text)
			}
			for _, s := range c.Masters[:3] {
				if !strings.Contains(text, s.Addr()) {
					t.Errorf("%s is not said to be away: %q", s.Addr(), text)
				}
			}
			if strings.Count(text, "\n") != 1 { // of a renewal in trouble a terminal is told
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

func TestALossIsNoticedWhereAnotherTakesTheKey(t *testing.T) {
	t.Parallel()
	c := servers(t, 3)
	r := start(t, c, "--ttl", "10s", "k", "--", "sh", "-c", `echo ready; exec sleep 600`)
	r.stdout.await(t, "ready")
	do(t, c.Masters, "SET", "k", "of-some-other-client", "PX", hourInMS)
	if code := r.end(t); code != 74 || !strings.HasSuffix(lossAndEnd(r.stderr.String()), `lock "k" LOST: held by somebody else. The command was stopped (SIGTERM). Another host may hold it now.`+"\n") {
		t.Errorf("exit code %d, %q", code, r.stderr.String())
	}
	if holders(t, c, "k") != 3 {
		t.Error("what another client has set was deleted")
	}
}

func TestTheLockIsKeptForWhatRunsInTheBackground(t *testing.T) {
	t.Parallel()
	c := servers(t, 3)
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	r := start(t, c, "--verbose", "k", "--", "sh", "-c", `(read line <"$0"; echo background done) & echo foreground done; exit 5`, fifo)
	r.stderr.await(t, "the command has ended, others of its process group have not: still locked")
	rig.Eventually(t, "a quorum has the key", func() bool { return holders(t, c, "k") >= 2 })
	if err := os.WriteFile(fifo, []byte("\n"), 0); err != nil {
		t.Fatal(err)
	}
	if code := r.end(t); code != 5 || r.stdout.String() != "foreground done\nbackground done\n" {
		t.Errorf("exit code %d, %q", code, r.stdout.String())
	}
	free(t, c, "k")
}

func TestTheLockOfAKilledProcessExpires(t *testing.T) {
	t.Parallel()
	c := servers(t, 3)
	r := start(t, c, "--ttl", "1s", "k", "--", "sh", "-c", `trap 'echo told; exit 0' TERM; echo ready; while :; do sleep 0.01; done`)
	r.stdout.await(t, "ready")
	if n := holders(t, c, "k"); n < 2 {
		t.Errorf("%d masters have the key", n)
	}
	r.signal(t, syscall.SIGKILL)
	_ = r.cmd.Wait()                                                                // it was killed
	if runtime.GOOS == "linux" && !strings.HasSuffix(r.stdout.String(), "told\n") { // Wait has waited for the command to close it
		t.Errorf("the command was not told: %q", r.stdout.String())
	}
	free(t, c, "k")
	if _, _, code := output(t, nil, "exec", "--try", "k", "--masters", addresses(c), "--", "true"); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestAClosedOutputIsTheCommandsOwnAffair(t *testing.T) {
	t.Parallel()
	c := servers(t, 1)
	// yes is ended by SIGPIPE, as in any shell.
	cmd := command(t, nil, "exec", "k", "--masters", addresses(c), "--", "yes")
	cmd.Stdout = unread(t)
	if code := codeOf(t, cmd.Run()); code != 141 {
		t.Errorf("exit code %d", code)
	}
	// What exec itself cannot tell does not keep it from its work.
	cmd = command(t, nil, "exec", "k", "--verbose", "--masters", addresses(c), "--", "sh", "-c", "exit 3")
	cmd.Stderr = unread(t)
	if code := codeOf(t, cmd.Run()); code != 3 {
		t.Errorf("exit code %d", code)
	}
	free(t, c, "k")
}

// The first attempt does not wait for connections. Those that take longer than an answer may
// get the time that they need all the same.
func TestExecGivesSlowConnectionsTheirTime(t *testing.T) {
	t.Parallel()
	for _, how := range [][]string{{"--try"}, {"--wait", "1m"}} {
		c := rig.Cluster(t, 3)
		initialize(t, rig.List(c))
		for _, m := range c.Masters() {
			m.Freeze() // accepts, and does not greet
		}
		r := startCommand(t, command(t, nil, slices.Concat([]string{"exec", "--masters", rig.List(c), "--wait-quorum", "0s"}, how, []string{"k", "--", "echo", "it ran"})...))
		time.Sleep(700 * time.Millisecond) // twice an attempt; where exec begins later the test passes, too
		for _, m := range c.Masters() {
			m.Thaw()
		}
		if code := r.end(t); code != 0 || r.stdout.String() != "it ran\n" {
			t.Errorf("%q: exit code %d, %q", how, code, r.stderr.String())
		}
	}
}

// Callers that ask in the same instant may split the votes, so that each fails and nobody
// holds the lock. With --try that is not taken for a holder, as long as the keys go away.
func TestExecTriesAgainWhereTheVotesWereSplit(t *testing.T) {
	t.Parallel()
	c := servers(t, 5)
	for ttl, want := range map[string]int{"120": 0, hourInMS: app.ExitBusy} { // 120 ms: what a rollback will delete
		for i := range c.Masters {
			do(t, c.Masters[i:i+1], "SET", "k"+ttl, fmt.Sprintf("other-%d", i%3), "PX", ttl)
		}
		stdout, stderr, code := output(t, nil, "exec", "--masters", addresses(c), "--try", "k"+ttl, "--", "echo", "it ran")
		if code != want || (stdout == "it ran\n") != (want == 0) {
			t.Errorf("keys of %s ms: exit code %d, %q, %q", ttl, code, stdout, stderr)
		}
	}
}

// Whoever looks after the job has the time that the command takes to end.
func TestALossIsAnnouncedWhileTheCommandIsStillBeingEnded(t *testing.T) {
	t.Parallel()
	c := servers(t, 3)
	r := start(t, c, "--ttl", "1s", "--grace", "1m", "k", "--", "sh", "-c", `trap '' TERM; echo $$; while :; do sleep 0.1; done`)
	rig.Eventually(t, "it runs", func() bool { return len(r.pids(t)) == 1 })
	do(t, c.Masters, "SET", "k", "somebody else's", "PX", hourInMS)
	r.stderr.await(t, `lock "k" LOST: held by somebody else. The command is being stopped.`)
	if ended(r.pids(t)[0]) {
		t.Error("the command had ended before")
	}
	if err := syscall.Kill(r.pids(t)[0], syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	if code := r.end(t); code != app.ExitLost || strings.Count(r.stderr.String(), "held by somebody else") != 1 {
		t.Errorf("exit code %d, %s", code, r.stderr.String())
	}
}

// A signal that would end exec would leave the command without its lock.
func TestSignalsThatWouldEndExecAreTheCommands(t *testing.T) {
	t.Parallel()
	c := servers(t, 1)
	signals := []syscall.Signal{syscall.SIGABRT, syscall.SIGTRAP, syscall.SIGSYS, syscall.SIGSEGV, syscall.SIGALRM}
	if runtime.GOOS == "linux" {
		signals = append(signals, 35, 64) // of real time
	}
	for _, s := range signals {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			r := start(t, c, fmt.Sprint("k", int(s)), "--", "sh", "-c", fmt.Sprintf("trap 'echo got it; exit 3' %d; echo ready; while :; do sleep 0.05; done", int(s)))
			r.stdout.await(t, "ready")
			r.signal(t, s)
			if code := r.end(t); code != 3 || !strings.Contains(r.stdout.String(), "got it") {
				t.Errorf("exit code %d, %q, %q", code, r.stdout.String(), r.stderr.String())
			}
		})
	}
}

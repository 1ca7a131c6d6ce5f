package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/testutil"
	"github.com/redquorum/redquorum/internal/redistest"
)

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
	for _, around := range []string{"", `"$DEMO" exec --ttl 1m around -- `} {
		term := interactive(t, c, around+`"$DEMO" exec --ttl 1m k -- sh -c 'echo ready; read line; echo "read $line"; read line; exit 3'
			echo "once: $?"; fg; echo "twice: $?"; fg; echo "ended: $?"`)
		term.await(t, "ready")
		term.press(t, ctrlZ)
		term.await(t, "once: ")
		term.press(t, "hello\n") // may come before fg: the terminal keeps it
		term.await(t, "read hello")
		term.press(t, ctrlZ)
		term.await(t, "twice: ")
		term.press(t, "\n")
		term.await(t, "ended: 3")
		term.end(t)
		free(t, c, "k")
	}
}

// Otherwise a shell with job control could have lent the terminal to a job, which would lose it.
func TestTheCommandHasTheTerminalFromItsStart(t *testing.T) {
	t.Parallel()
	c := servers(t, 1)
	for range 10 {
		term := onTerminal(t, command(t, nil, "exec", "--masters", addresses(c), "k", "--", "sh", "-c",
			`read -r pid name state parent group session terminal front rest </proc/$$/stat; echo "group $group, in front $front"`))
		code, text := term.end(t)
		if found := regexp.MustCompile(`group (\d+), in front (\d+)`).FindStringSubmatch(text); code != 0 || found == nil || found[1] != found[2] {
			t.Fatalf("exit code %d, %q", code, text)
		}
	}
}

// No shell could continue the command. If exec did, it would ask for the terminal again and again.
func TestCommandThatCannotGetTheTerminalIsSuspendedUntilASignal(t *testing.T) {
	t.Parallel()
	c, dir := servers(t, 1), t.TempDir()
	term := interactive(t, c, `cd `+dir+`; ( (until [ -e go ]; do sleep 0.01; done; exec "$DEMO" exec k -- sh -c 'cat </dev/tty') & echo $! >pid ); touch go; read line; kill $(cat pid); read line`)
	term.await(t, "the command asks for the terminal")
	term.press(t, "\n")
	free(t, c, "k")
	term.press(t, "\n")
	if code, text := term.end(t); code != 0 || strings.Count(text, "the command asks") != 1 {
		t.Errorf("exit code %d, %q", code, text)
	}
}

func TestASuspendedCommandDoesNotGoOnWithoutItsLock(t *testing.T) {
	t.Parallel()
	c := servers(t, 1)
	// The command waits without starting anything: a shell that is suspended between vfork
	// and exec is never reported as stopped.
	term := interactive(t, c, `"$DEMO" exec --ttl `+soon+` k -- sh -c 'trap "printf w%s ent" CONT; echo ready; while :; do :; done'
		echo "stopped: $?"; read line; fg; echo "ended: $?"`)
	term.await(t, "ready")
	term.press(t, ctrlZ)
	term.await(t, "stopped: ")
	free(t, c, "k") // it expires
	term.press(t, "go on\n")
	term.await(t, "ended: 74")
	if _, text := term.end(t); strings.Contains(text, "went") || !strings.Contains(text, "The command was stopped (SIGTERM)") ||
		!strings.Contains(text, `lock "k" LOST: expired`) {
		t.Errorf("%q", text)
	}
}

// With flock, the rest of the pipeline would be in the foreground together with the command.
func TestPipelineOutputToALentTerminalComesAfterTheCommand(t *testing.T) {
	t.Parallel()
	c, dir := servers(t, 1), t.TempDir()
	term := interactive(t, c, `cd `+dir+`; stty tostop
		"$DEMO" exec k -- sh -c 'echo ready >/dev/tty; read line </dev/tty; echo "read $line"; until grep -q "^State:.T" /proc/$(cat pid)/status; do sleep 0.01; done; exit 3' |
			sh -c 'echo $$ >pid; exec cat'
		echo "ended: ${PIPESTATUS[*]}"`)
	term.await(t, "ready")
	term.press(t, "hello\n")
	term.await(t, "ended: 3 0")
	if _, text := term.end(t); !strings.Contains(text, "read hello") {
		t.Errorf("%q", text)
	}
}

// A person at the terminal learns of the trouble in time to act, and learns when it is over.
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
	reports := regexp.MustCompile(`(?m)^redlock-demo: renewal of "k" is in trouble: 2 of 3 masters do not answer \(([\d.:]+), ([\d.:]+)\); the lock ends at \d\d:\d\d:\d\d unless it succeeds\r$`).FindAllStringSubmatch(text, -1)
	if code != 0 || len(reports) != 1 || reports[0][1] != c.Masters[0].Addr() || reports[0][2] != c.Masters[1].Addr() || strings.Count(text, "works again") != 1 {
		t.Errorf("exit code %d\n%s", code, text)
	}
}

// A terminal may suspend a process that writes to it from the background. exec is there while the
// command has the terminal, and a suspended exec renews nothing.
func TestExecIsNotSuspendedWhenItPrintsToALentTerminal(t *testing.T) {
	t.Parallel()
	c := servers(t, 1)
	term := interactive(t, c, `stty tostop; "$DEMO" exec --ttl `+soon+` --verbose k -- sh -c 'read line; exit 3'; echo "ended: $?"`)
	term.awaitRenewals(t, 2)
	term.press(t, "\n")
	term.await(t, "ended: 3")
	if _, text := term.end(t); strings.Contains(text, "LOST") {
		t.Errorf("%q", text)
	}
	free(t, c, "k")
}

// If exec were suspended between grant and start, the command would start later without the lock.
func TestExecIsNotSuspendedWhenItPrintsInTheBackground(t *testing.T) {
	t.Parallel()
	c := servers(t, 1)
	term := interactive(t, c, `stty tostop; for i in 1 2 3 4 5 6 7 8; do "$DEMO" exec --verbose k$i -- sh -c "exit 3" >/dev/null & wait $!; echo "ended: $?"; done; kill -9 $(jobs -p)`)
	if _, text := term.end(t); strings.Count(text, "ended: 3") != 8 || strings.Count(text, `locked "k`) != 2*8 {
		t.Errorf("%q", text)
	}
}

// insist presses a key until no process is on the terminal. Two presses at once would be one signal.
func (term *terminal) insist(key string) {
	for {
		_, _ = term.master.WriteString(key)
		select {
		case <-term.gone:
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// Processes that the command leaves in the background keep the terminal from the shell. exec
// prints why, and Ctrl-C ends them.
func TestCtrlCEndsBackgroundProcessesThatOutliveTheCommand(t *testing.T) {
	t.Parallel()
	c := servers(t, 1)
	term := onTerminalOf(t, 200, command(t, nil, "exec", "--masters", addresses(c), "k", "--", "sh", "-c", "sleep 600 & sleep 600 & echo ready $!"))
	term.await(t, "still locked, until this has ended: pid ")
	pid := regexp.MustCompile(`ready (\d+)`).FindStringSubmatch(term.String())[1]
	term.await(t, "pid "+pid+" (") // sleep, or still the shell
	term.insist(ctrlC)
	if code, text := term.end(t); code != 0 {
		t.Errorf("exit code %d\n%q", code, text)
	}
	free(t, c, "k")
}

// No process that exec has started goes on while exec does not renew its lock.
func TestCtrlZSuspendsAlsoWhatIsLeftInTheBackground(t *testing.T) {
	t.Parallel()
	c, dir := servers(t, 1), t.TempDir()
	term := interactive(t, c, `"$DEMO" exec --ttl 1m k -- bash -c 'set -m; while :; do date +%s%N >`+dir+`/work; sleep 0.01; done & echo $! >`+dir+`/pid'
		echo "stopped: $?"; read line; fg; echo "ended: $?"`)
	term.await(t, "what it has started")
	term.press(t, ctrlZ)
	term.await(t, "stopped: ")
	work := func() string {
		text, _ := os.ReadFile(filepath.Join(dir, "work"))
		return string(text)
	}
	before := work()
	time.Sleep(200 * time.Millisecond)
	if work() != before {
		t.Error("it works while exec is suspended")
	}
	term.press(t, "go on\n")
	testutil.Eventually(t, "it goes on", func() bool { now := work(); return now != "" && now != before })
	term.insist(ctrlC)
	if _, text := term.end(t); !strings.Contains(text, "ended: 0") {
		t.Errorf("%q", text)
	}
	free(t, c, "k")
}

func TestATerminalGetsItsModesBackWhenTheCommandIsKilled(t *testing.T) {
	t.Parallel()
	c := servers(t, 1)
	for name, test := range map[string]struct{ then, want string }{
		"killed":          {"read line", `( |^)icanon.* echo `},
		"ended by itself": {"exit 0", `-icanon.* -echo `}, // the command wanted these modes
	} {
		cmd := command(t, []string{"DEMO=" + binary, "REDLOCK_MASTERS=" + addresses(c)})
		cmd.Path, cmd.Args = "/bin/sh", []string{"sh", "-c", `"$DEMO" exec --grace 0 k -- sh -c 'stty raw -echo; echo ready; ` + test.then + `'; stty -a | tr "\n" " "; echo done`}
		term := onTerminalOf(t, 200, cmd)
		term.await(t, "ready")
		if name == "killed" {
			do(t, c.Masters, "SET", "k", "other", "PX", hourInMS)
		}
		term.await(t, "done")
		if _, text := term.end(t); !regexp.MustCompile(test.want).MatchString(text) {
			t.Errorf("%s: %q", name, text)
		}
		do(t, c.Masters, "DEL", "k")
	}
}

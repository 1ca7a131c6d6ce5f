package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/redquorum/redquorum/cmd/internal/chaos"
	"github.com/redquorum/redquorum/cmd/internal/rig"
	"github.com/redquorum/redquorum/internal/redistest"
)

// modes are those of the terminal, which have to be as before in the end.
func (term *terminal) modes(t *testing.T) unix.Termios {
	t.Helper()
	modes, err := unix.IoctlGetTermios(int(term.master.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return *modes
}

// acquired is shown once somebody had the lock.
var acquired = regexp.MustCompile(`\D[1-9]\d* acquired`)

// awaitHolds waits until the picture counts holds.
func (term *terminal) awaitHolds(t *testing.T) {
	t.Helper()
	rig.Eventually(t, "somebody had the lock", func() bool { return acquired.MatchString(term.String()) })
}

const (
	otherScreen = "\x1b[?1049h\x1b[?25l\x1b[?7l"
	backAgain   = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l"
)

// checkGivenBack checks that the terminal is as it was, and that the last that
// the picture did was to leave.
func checkGivenBack(t *testing.T, before, after unix.Termios, text string) {
	t.Helper()
	if before != after {
		t.Errorf("the terminal's modes were not restored: %+v, want %+v", after, before)
	}
	if in, out := strings.LastIndex(text, otherScreen), strings.LastIndex(text, backAgain); in < 0 || out < in {
		t.Errorf("the screen was not given back: %q", text[max(len(text)-300, 0):])
	}
}

func TestChaosTakesKeysAndGivesTheTerminalBack(t *testing.T) {
	t.Parallel()
	term := onTerminal(t, command(t, []string{"TERM=xterm"}, "chaos"))
	term.awaitHolds(t)
	raw := term.modes(t)
	if raw.Lflag&(unix.ICANON|unix.ECHO|unix.ISIG) != 0 {
		t.Errorf("the terminal is not raw: %+v", raw)
	}
	for _, step := range []struct{ keys, shows string }{
		{"2k", "master 2 killed"}, {"3f", "master 3 frozen"}, {"f", "master 3 thawed"}, {"2r", "master 2 restarted with its data"},
		{"4c", "master 4 cut off"}, {"c", "master 4 reachable again"}, {"5e", "master 5 restarted empty"},
		{"1s", "master 1 has its clock set off by +1s"}, {"\x1b[A?x", "▸"},
	} {
		term.press(t, step.keys)
		term.await(t, step.shows)
	}
	term.press(t, "q")
	code, text := term.end(t)
	if last := text[strings.LastIndex(text, backAgain):]; code != 0 || !strings.Contains(last, "HELD    ") {
		t.Errorf("exit code %d\n%q", code, last)
	}
}

func TestChaosGivesTheTerminalBackWhateverEndsIt(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		end  func(term *terminal)
		code int
		says string
	}{
		{"Ctrl-C", func(term *terminal) { _, _ = term.master.WriteString(ctrlC) }, 0, "HELD    "},
		{"SIGINT", send(syscall.SIGINT), 130, "ended by SIGINT"},
		{"SIGTERM", send(syscall.SIGTERM), 143, "ended by SIGTERM"},
		{"SIGHUP", send(syscall.SIGHUP), 129, "ended by SIGHUP"},
		{"SIGQUIT", send(syscall.SIGQUIT), 131, "ended by SIGQUIT"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			term := onTerminal(t, command(t, []string{"TERM=xterm", "NO_COLOR=1"}, "chaos"))
			before := cookedModes(t)
			term.awaitHolds(t)
			test.end(term)
			code, text := term.end(t)
			checkGivenBack(t, before, term.modes(t), text)
			if last := text[strings.LastIndex(text, backAgain):]; code != test.code || !strings.Contains(last, test.says) {
				t.Errorf("exit code %d\n%q", code, last)
			}
			if strings.Contains(strings.ReplaceAll(text, backAgain, ""), "\x1b[0m") {
				t.Error("coloured")
			}
		})
	}
}

// cookedModes are those that a terminal of the tests has at first; the program
// may have changed them already.
func cookedModes(t *testing.T) unix.Termios {
	t.Helper()
	fresh := onTerminal(t, command(t, nil, "--version"))
	modes := fresh.modes(t)
	_, _ = fresh.end(t)
	return modes
}

func send(signal syscall.Signal) func(*terminal) {
	return func(term *terminal) { _ = term.cmd.Process.Signal(signal) }
}

func TestChaosGivesTheTerminalBackWhileItIsSuspended(t *testing.T) {
	t.Parallel()
	term := onTerminal(t, command(t, []string{"TERM=xterm"}, "chaos"))
	before := cookedModes(t)
	term.awaitHolds(t)
	send(syscall.SIGTSTP)(term)
	term.await(t, backAgain)
	rig.Eventually(t, "the terminal's modes are restored", func() bool { return term.modes(t) == before })
	rig.Eventually(t, "the process is stopped", func() bool { // as a shell waits for it
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", term.cmd.Process.Pid))
		return err == nil && strings.Contains(string(stat), ") T ")
	})
	shown := strings.Count(term.String(), otherScreen)
	send(syscall.SIGCONT)(term)
	rig.Eventually(t, "the picture comes back", func() bool { return strings.Count(term.String(), otherScreen) > shown })
	term.press(t, "q")
	code, text := term.end(t)
	checkGivenBack(t, before, term.modes(t), text)
	if code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestChaosBreaksRealMasters(t *testing.T) {
	t.Parallel()
	path, dir := server(t), t.TempDir()
	faults := rig.File(t, "500ms kill 1\n700ms freeze 2\n2s thaw 2\n2s restart 1\n3s empty 3\n4s cut 4\n5s heal 4\n6s end\n")
	stdout, stderr, code := output(t, []string{"TMPDIR=" + dir}, "chaos", "--spawn", path, "--script", faults, "--json")
	if code != 0 || stderr != "" {
		t.Fatalf("exit code %d, %q\n%s", code, stderr, stdout)
	}
	for _, want := range []string{`"verdict": "held"`, `"masters": "spawned"`, `"version": "redis-server `, "master 3 restarted empty", "master 2 thawed"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %s in\n%s", want, stdout)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("%v, left behind: %v", err, left)
	}
}

// How masters are watched that others run is tested in internal/chaos.
func TestChaosOffersNoKeysForMastersThatOthersRun(t *testing.T) {
	t.Parallel()
	c, urls := processes(t, 3, redistest.Config{AppendOnly: redistest.AppendAlways})
	term := onTerminal(t, command(t, []string{"TERM=xterm", "NO_COLOR=1"}, "chaos", "--masters", urls))
	term.awaitHolds(t)
	term.press(t, "2k3f\tx") // nothing of that may reach them
	kill(t, c.Masters[0])
	term.await(t, "master 1 "+c.Masters[0].Addr()+": down: connection refused")
	term.press(t, "q")
	code, text := term.end(t)
	if last := text[strings.LastIndex(text, backAgain):]; code != 0 || !strings.Contains(last, "HELD    ") {
		t.Errorf("exit code %d\n%q", code, last)
	}
	if !strings.Contains(text, "3 masters that others run") || strings.Contains(text, "▸") || strings.Contains(text, "killed") || !strings.Contains(text, "q quit") || strings.Contains(text, "r restart") {
		t.Errorf("keys are offered or heeded: %q", text)
	}
	for _, m := range c.Masters[1:] {
		if n := keysOn(t, m, "*chaos*"); n > 0 {
			t.Errorf("%d keys are left on %s", n, m.Addr())
		}
	}
}

func TestChaosOnMastersThatOthersRunEndsWithASignalAndTheVerdict(t *testing.T) {
	t.Parallel()
	_, urls := processes(t, 3, redistest.Config{Password: "secret"})
	run := startCommand(t, command(t, nil, "chaos", "--masters", urls, "--json"))
	rig.Eventually(t, "somebody fights for a lock", func() bool {
		out, _, _ := output(t, nil, "locks", "--masters", urls)
		return strings.Contains(out, "chaos:")
	})
	run.signal(t, os.Interrupt)
	code := run.end(t)
	r := rig.Parse[chaos.Result](t, run.stdout.String())
	if code != 130 || run.stderr.String() != "redlock-demo: ended by SIGINT\n" || r.Verdict != chaos.VerdictHeld || r.Masters != "given" || r.Version != "" || r.Check.Holds == 0 {
		t.Errorf("exit code %d, %q, %+v", code, run.stderr.String(), r)
	}
}

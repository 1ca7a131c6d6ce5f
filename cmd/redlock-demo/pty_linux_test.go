package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/redquorum/redquorum/cmd/internal/testutil"
)

// A terminal is a pseudo-terminal with a command on it.
type terminal struct {
	watched
	cmd    *exec.Cmd
	master *os.File
	gone   chan struct{} // closed when no process uses the terminal any more
}

// onTerminal starts the command on a terminal of its own, standard error too.
func onTerminal(t *testing.T, cmd *exec.Cmd) *terminal {
	t.Helper()
	return onTerminalOf(t, 80, cmd)
}

// onTerminalOf is onTerminal with a number of columns.
func onTerminalOf(t *testing.T, columns uint16, cmd *exec.Cmd) *terminal {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("needs a pseudo-terminal: %v", err)
	}
	t.Cleanup(func() { _ = master.Close() })
	fd := int(master.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 50, Col: columns}); err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setsid, cmd.SysProcAttr.Setctty = true, true
	err = errors.Join(cmd.Start(), slave.Close())
	if err != nil {
		t.Fatal(err)
	}
	term := &terminal{cmd: cmd, master: master, gone: make(chan struct{})}
	go func() { // ends with the last process on the terminal
		defer close(term.gone)
		_, _ = io.Copy(&term.watched, master) // EIO at the end
	}()
	return term
}

// press sends what the keyboard would.
func (term *terminal) press(t *testing.T, keys string) {
	t.Helper()
	if _, err := term.master.WriteString(keys); err != nil {
		t.Fatal(err)
	}
}

const ctrlC = "\x03"

// end waits for the command and returns its exit code and all that was shown.
func (term *terminal) end(t *testing.T) (int, string) {
	t.Helper()
	code := codeOf(t, term.cmd.Wait())
	select {
	case <-term.gone:
	case <-time.After(10 * time.Second):
		t.Error("the terminal is still in use")
	}
	return code, term.String()
}

func TestATerminalSeesColoursAndALiveLine(t *testing.T) {
	t.Parallel()
	term := onTerminal(t, command(t, []string{"TERM=xterm"}))
	code, text := term.end(t)
	for _, want := range []string{"\x1b[32m✓\x1b[0m", "\r\x1b[K   ⠋ sold ", "\x1b[1m1  Without a lock\x1b[0m", "PASSED"} {
		if !strings.Contains(text, want) {
			t.Errorf("not shown: %q", want)
		}
	}
	if code != 0 || t.Failed() {
		t.Errorf("exit code %d\n%q", code, text)
	}
}

func TestNoColourIsGivenToThoseWhoWantNone(t *testing.T) {
	t.Parallel()
	c := testutil.Cluster(t, 1)
	for _, test := range []struct {
		env  []string
		live bool
	}{
		{[]string{"TERM=xterm", "NO_COLOR=1"}, true},
		{[]string{"TERM=dumb"}, false},
	} {
		term := onTerminal(t, command(t, test.env, "--masters", testutil.List(c)))
		term.await(t, "Now stop a master")
		if test.live {
			term.await(t, "for a master to go away · Ctrl-C skips") // the prompt's own live line
		}
		term.press(t, ctrlC)
		code, text := term.end(t)
		if code != 0 || !strings.Contains(text, "– skipped: by Ctrl-C") {
			t.Errorf("%q: exit code %d\n%q", test.env, code, text)
		}
		withoutErasing := strings.ReplaceAll(text, "\r\x1b[K", "")
		if strings.Contains(withoutErasing, "\x1b") {
			t.Errorf("%q: coloured: %q", test.env, text)
		}
		if live := withoutErasing != text; live != test.live {
			t.Errorf("%q: a live line: %v, want %v", test.env, live, test.live)
		}
	}
}

func TestCtrlCEndsTheRunWhereThereIsNothingToSkip(t *testing.T) {
	t.Parallel()
	term := onTerminal(t, command(t, []string{"TERM=xterm"}))
	term.await(t, "With the lock")
	term.press(t, ctrlC)
	code, text := term.end(t)
	if code != 130 || !strings.HasSuffix(text, "redlock-demo: ended by SIGINT\r\n") {
		t.Errorf("exit code %d\n%q", code, text)
	}
}

//go:build unix

package job

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// A terminal is the controlling one, if there is one. Only the group of
// processes in its foreground may read from it, and gets its Ctrl-C.
type terminal struct {
	file  *os.File    // nil: none
	lent  int         // the group that has it; 0: none
	modes *term.State // as they were when it was lent
}

func openTerminal() *terminal {
	file, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return &terminal{}
	}
	return &terminal{file: file}
}

func (t *terminal) close() {
	if t.file != nil {
		_ = t.file.Close()
	}
}

// interactive reports whether the command talks to a person. A command in a pipeline may
// not: the next command of the pipeline would lose the terminal.
func (t *terminal) interactive() bool {
	return t.file != nil && term.IsTerminal(0) && term.IsTerminal(1)
}

// front returns the process group in the foreground; 0: it is not known.
func (t *terminal) front() int {
	front, err := unix.IoctlGetInt(int(t.file.Fd()), unix.TIOCGPGRP)
	if err != nil {
		return 0
	}
	return front
}

// lendAtStart gives a command the terminal before it runs, because it may lend it on at once.
func (t *terminal) lendAtStart(sys *syscall.SysProcAttr) {
	if t.interactive() && t.front() == syscall.Getpgrp() {
		sys.Foreground, sys.Ctty = true, int(t.file.Fd())
		t.modes, _ = term.GetState(sys.Ctty)
		t.lent = -1 // the group is not known yet
	}
}

// lend puts a group into the foreground, if our group or that one is there now, and
// reports whether it is there.
func (t *terminal) lend(group int) bool {
	if t.file == nil {
		return false
	}
	front, fd := t.front(), int(t.file.Fd())
	if front != group && front != syscall.Getpgrp() {
		return false
	}
	if t.lent == 0 {
		t.modes, _ = term.GetState(fd)
	}
	if front != group && unix.IoctlSetPointerInt(fd, unix.TIOCSPGRP, group) != nil {
		return false
	}
	t.lent = group
	return true
}

// takeBack puts our own group into the foreground if the terminal was lent, and reports whether it
// was. A command that was killed had no time to restore the terminal's modes, so takeBack does.
func (t *terminal) takeBack(killed bool) bool {
	if t.lent == 0 {
		return false
	}
	front, fd := t.front(), int(t.file.Fd())
	_ = unix.IoctlSetPointerInt(fd, unix.TIOCSPGRP, syscall.Getpgrp()) // in the background this needs SIGTTOU ignored
	if killed && t.modes != nil && (front == t.lent || front == syscall.Getpgrp()) {
		_ = term.Restore(fd, t.modes)
	}
	t.lent = 0
	return true
}

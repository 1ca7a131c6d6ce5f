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
	file *os.File // nil: none
	lent bool
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

// interactive reports whether a command of ours is the one that a person talks
// to. In a pipeline it may not be: the next command would lose the terminal.
func (t *terminal) interactive() bool {
	return t.file != nil && term.IsTerminal(0) && term.IsTerminal(1)
}

// lend puts a group into the foreground, if that is our place or was lent
// already, and reports whether it is there.
func (t *terminal) lend(group int) bool {
	if t.file == nil {
		return false
	}
	fd := int(t.file.Fd())
	front, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	if err != nil {
		return false
	}
	if front != group {
		if front != syscall.Getpgrp() || unix.IoctlSetPointerInt(fd, unix.TIOCSPGRP, group) != nil {
			return false
		}
	}
	t.lent = true
	return true
}

// takeBack puts our own group into the foreground, if it lent its place, and
// reports whether it did.
func (t *terminal) takeBack() bool {
	if !t.lent {
		return false
	}
	t.lent = false
	// Who does this from the background is suspended unless that is ignored.
	ignoring(syscall.SIGTTOU, func() {
		_ = unix.IoctlSetPointerInt(int(t.file.Fd()), unix.TIOCSPGRP, syscall.Getpgrp())
	})
	return true
}

//go:build unix && !linux

package job

import (
	"os"
	"os/signal"
	"syscall"
)

// ofThisSystem are the signals that end a process and are not on all systems.
var ofThisSystem []os.Signal

// attributes gives the command a process group of its own. Nothing here tells
// it that this process was killed.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

const orphansAreOurs = false

// stop suspends a process, or the group of this one, as Ctrl-Z does. Package signal
// cannot give SIGTSTP its default back.
func stop(pid int) {
	signal.Ignore(syscall.SIGTSTP)
	_ = syscall.Kill(pid, syscall.SIGTSTP)
	_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
}

// adoptOrphans leaves them to process 1.
func adoptOrphans() {}

// parentOf knows that of this process only.
func parentOf(pid int) (int, bool) { return os.Getppid(), pid == os.Getpid() }

func (p process) alive() bool { return membersOf(-p.pid) != nil }

// A family knows the command's group alone.
type family struct{}

func newFamily() *family { return &family{} }

func (*family) look(group int) (here, left []process) { return membersOf(group), nil }

// Room is not looked at here.
func Room() error { return nil }

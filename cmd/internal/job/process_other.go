//go:build unix && !linux

package job

import (
	"os"
	"os/signal"
	"syscall"
)

// ofThisSystem are the signals that end a process and exist only on some systems.
var ofThisSystem []os.Signal

// attributes gives the command a process group of its own. The command gets no signal
// here when this process is killed.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

const orphansAreOurs = false

// stop suspends a process, or the group of this one, as Ctrl-Z does. SIGSTOP suspends this
// process, because package signal cannot restore the default of SIGTSTP.
func stop(pid int) {
	signal.Ignore(syscall.SIGTSTP)
	_ = syscall.Kill(pid, syscall.SIGTSTP)
	_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
}

// adoptOrphans leaves orphans to process 1.
func adoptOrphans() {}

// parentOf knows the parent of this process only.
func parentOf(pid int) (int, bool) { return os.Getppid(), pid == os.Getpid() }

func (p process) alive() bool { return membersOf(-p.pid) != nil }

// A family knows only the command's group.
type family struct{}

func newFamily() *family { return &family{} }

func (*family) look(group int) (here, left []process) { return membersOf(group), nil }

// Room checks nothing on this system.
func Room() error { return nil }

//go:build unix && !linux

package job

import (
	"os"
	"syscall"
)

// ofThisSystem are the signals that end a process and are not on all systems.
var ofThisSystem []os.Signal

// attributes gives the command a process group of its own. Nothing here tells
// it that this process was killed.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// adoptOrphans leaves them to process 1.
func adoptOrphans() {}

// parentOf knows that of this process only.
func parentOf(pid int) (int, bool) { return os.Getppid(), pid == os.Getpid() }

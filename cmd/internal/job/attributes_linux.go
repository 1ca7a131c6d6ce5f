package job

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// ofThisSystem are the signals that end a process and are not on all systems: among them those of real time.
var ofThisSystem = func() []os.Signal {
	all := []os.Signal{syscall.SIGPWR, syscall.SIGSTKFLT}
	for s := syscall.Signal(35); s <= 64; s++ { // those before are the C libraries', and cannot be had
		all = append(all, s)
	}
	return all
}()

// attributes gives the command a process group of its own, and SIGTERM should
// this process die without a word, as by SIGKILL.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}

// adoptOrphans makes the command's orphans this process's own children, which
// are reaped here: where process 1 does not do that, as in many containers,
// they would stay in the group for ever.
func adoptOrphans() {
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) // Linux 3.4
}

// parentOf reads /proc.
func parentOf(pid int) (int, bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, false
	}
	// The name in parentheses may itself hold any character.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 2 {
		return 0, false
	}
	parent, err := strconv.Atoi(string(fields[1]))
	return parent, err == nil
}

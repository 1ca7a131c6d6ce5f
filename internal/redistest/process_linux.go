package redistest

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// childAttributes makes the kernel kill the child when its parent dies (startProcess says what the
// caller has to do for that). It gives the child a process group of its own: Ctrl-C in a terminal
// is for the parent, which ends its children in its own order.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}

// suspended reports whether every thread of the process is stopped: SIGSTOP reaches the threads one
// after another. A process without threads is gone, not suspended.
func suspended(pid int) (bool, error) {
	stats, err := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "task", "*", "stat"))
	if err != nil {
		return false, err
	}
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue // the thread ended since
		}
		if err != nil {
			return false, err
		}
		if state := threadState(stat); state != 'T' && state != 't' {
			return false, nil
		}
	}
	return len(stats) > 0, nil
}

// threadState returns the state letter of a /proc/…/stat line, 0 if there is
// none. It follows the name in parentheses, which may itself hold any character.
func threadState(stat []byte) byte {
	_, after, ok := bytes.Cut(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" "))
	if !ok || len(after) == 0 {
		return 0
	}
	return after[0]
}

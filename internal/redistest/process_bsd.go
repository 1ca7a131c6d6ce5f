//go:build unix && !linux

package redistest

import (
	"context"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// childAttributes gives the child a process group of its own: Ctrl-C in a terminal is for the
// parent. These systems cannot end a child when its parent dies.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// suspended reports whether ps shows the process as stopped.
func suspended(pid int) (bool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), freezeBound)
	defer cancel()
	out, err := exec.CommandContext(ctx, "ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return false, err
	}
	return strings.HasPrefix(strings.TrimSpace(string(out)), "T"), nil
}

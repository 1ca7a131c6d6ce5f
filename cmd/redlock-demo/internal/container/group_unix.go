//go:build unix

package container

import (
	"os/exec"
	"syscall"
)

// ownGroup keeps what is typed at the terminal from the command: a Ctrl-C is
// ours, and what is under way has to come to its end.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

//go:build unix

package redistest

import (
	"os"
	"syscall"
)

func suspend(p *os.Process) error { return signal(p, syscall.SIGSTOP) }

func resume(p *os.Process) error { return signal(p, syscall.SIGCONT) }

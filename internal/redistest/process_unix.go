//go:build unix

package redistest

import "syscall"

func suspend(p *process) error { return p.signal(syscall.SIGSTOP) }

func resume(p *process) error { return p.signal(syscall.SIGCONT) }

//go:build unix

package job

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

// endBound is how long a signal may take to arrive.
const endBound = time.Second

// EndBy ends this process by a signal, so that its parent sees the signal; a shell then ends its
// script. With group, the whole process group gets the signal, as from a terminal, if the group
// is in the foreground. EndBy returns if the process does not end: it is process 1, the signal
// was ignored at its start, or the signal is not SIGINT, SIGTERM or SIGHUP.
func EndBy(s syscall.Signal, group bool) {
	t := openTerminal()
	if group = group && t.file != nil && t.front() == syscall.Getpgrp(); group {
		// Otherwise SIGQUIT would make this process print its goroutines.
		signal.Notify(make(chan os.Signal, 1), syscall.SIGQUIT)
	}
	t.close()
	dies := os.Getpid() != 1 && !signal.Ignored(s) &&
		(s == syscall.SIGINT || s == syscall.SIGTERM || s == syscall.SIGHUP)
	if dies {
		signal.Reset(s)
	}
	switch {
	case group:
		_ = syscall.Kill(0, s)
	case dies:
		_ = syscall.Kill(os.Getpid(), s)
	}
	if dies {
		time.Sleep(endBound)
	}
}

//go:build unix

package job

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

// endBound is for a signal to arrive.
const endBound = time.Second

// EndBy ends this process by a signal, so that whoever waits for it sees that, as a shell
// that ends its script. For the group: where that is in the foreground all of it gets the
// signal, as from a terminal. It returns where the process does not end so: as process 1,
// where the signal was ignored when it was started, and by signals that a Go program has
// no default for.
func EndBy(s syscall.Signal, group bool) {
	t := openTerminal()
	if group = group && t.file != nil && t.front() == syscall.Getpgrp(); group {
		// By SIGQUIT this process would end with the states of its goroutines.
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

// Package early takes SIGQUIT before anything else is made ready: until somebody asks for it,
// Go's answer to it is the stacks of all goroutines. It imports nothing that takes time, so that
// it is made ready before what does.
package early

import (
	"os"
	"os/signal"
	"syscall"
)

// Signals is where the signals that end a program arrive.
var Signals = func() chan os.Signal {
	signals := make(chan os.Signal, 4)
	if !signal.Ignored(syscall.SIGQUIT) {
		signal.Notify(signals, syscall.SIGQUIT)
	}
	return signals
}()

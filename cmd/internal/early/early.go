// Package early catches SIGQUIT before other packages are initialized: until a program asks for
// SIGQUIT, Go answers it with the stacks of all goroutines. The package imports nothing that is
// slow to initialize, so that its own initialization comes first.
package early

import (
	"os"
	"os/signal"
	"syscall"
)

// Signals receives the signals that end a program.
var Signals = func() chan os.Signal {
	signals := make(chan os.Signal, 4)
	if !signal.Ignored(syscall.SIGQUIT) {
		signal.Notify(signals, syscall.SIGQUIT)
	}
	return signals
}()

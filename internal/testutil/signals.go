package testutil

import (
	"os"
	"os/signal"
	"syscall"
)

// HeedSignals makes sure that commands started by the tests die of the signals that end
// programs. nohup and a shell's & make the tests ignore them, and a child would inherit that.
func HeedSignals() {
	for _, sig := range []os.Signal{syscall.SIGHUP, os.Interrupt} {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig)
		}
	}
}

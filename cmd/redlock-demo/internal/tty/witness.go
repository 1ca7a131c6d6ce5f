package tty

import (
	"io"
	"os"

	"golang.org/x/term"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/witness"
)

// Witness is the whole of the process that gives the terminal back, which is its
// standard input and output, when the one that has taken it cannot.
func Witness() error {
	before, err := term.GetState(int(os.Stdin.Fd()))
	if err != nil {
		return err
	}
	if dismissed, err := witness.Await(); dismissed || err != nil {
		return err // it has given the terminal back itself
	}
	_, _ = io.WriteString(os.Stdout, leave)
	return term.Restore(int(os.Stdin.Fd()), before)
}

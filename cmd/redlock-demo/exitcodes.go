package main

import (
	"errors"
	"fmt"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/demo"
)

// Exit codes: those of sysexits.h where it has one, and those of a shell for
// signals.
const (
	exitOK       = 0
	exitFailed   = 1  // an expectation did not hold
	exitUsage    = 64 // unknown flag, bad value, bad list of masters
	exitNoQuorum = 69 // too few masters can be reached
	exitSoftware = 70 // anything that should not happen
	exitOS       = 71 // a process or a port could not be had
	exitOutput   = 74 // the output could not be written
	exitLost     = 74 // exec, which has no output: the lock was lost
	exitBusy     = 75 // somebody else holds the lock

	exitCannotRun = 126
	exitNotFound  = 127
	exitSignal    = 128
)

// A usageError is what only other arguments mend.
type usageError struct{ err error }

func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// A startError says that masters of our own could not be started.
type startError struct{ err error }

func (e *startError) Error() string { return "starting the masters: " + e.err.Error() }
func (e *startError) Unwrap() error { return e.err }

// A failedError says that expectations did not hold.
type failedError struct{ failed, of int }

func (e *failedError) Error() string {
	return fmt.Sprintf("%d of %d expectations did not hold", e.failed, e.of)
}

// An outputError says that the output could not be written.
type outputError struct{ err error }

func (e *outputError) Error() string { return "writing the output: " + e.err.Error() }
func (e *outputError) Unwrap() error { return e.err }

// A codeError ends the process with a code of its own. Without err there is
// nothing to be said about it.
type codeError struct {
	code int
	err  error
}

func (e *codeError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *codeError) Unwrap() error { return e.err }

// exitCode is the process's answer to how a command ended.
func exitCode(err error) int {
	var withCode *codeError
	var bySignal *signalError
	var noQuorum *demo.NoQuorumError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &withCode):
		return withCode.code
	case errors.As(err, &bySignal):
		return exitSignal + int(bySignal.signal)
	case errors.As(err, new(*usageError)), errors.As(err, new(*demo.InputError)):
		return exitUsage
	case errors.As(err, &noQuorum):
		// Where not a single master answers, the list is more likely wrong
		// than all of them down.
		if noQuorum.Reached() == 0 {
			return exitUsage
		}
		return exitNoQuorum
	case errors.As(err, new(*failedError)):
		return exitFailed
	case errors.As(err, new(*outputError)):
		return exitOutput
	case errors.As(err, new(*startError)):
		return exitOS
	default:
		return exitSoftware
	}
}

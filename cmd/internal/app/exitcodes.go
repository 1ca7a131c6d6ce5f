package app

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/redquorum/redquorum/redlock"
)

// Exit codes: those of sysexits.h where it has one, and those of a shell for signals.
const (
	ExitOK       = 0
	ExitFailed   = 1  // the answer is no, for example an expectation that did not hold
	ExitUsage    = 64 // unknown flag, bad value, bad list of masters
	ExitNoQuorum = 69 // too few masters can be reached
	ExitSoftware = 70 // anything that should not happen; exec: a key that nobody will release
	ExitOS       = 71 // the system refused a process or a port
	ExitOutput   = 74 // the output could not be written
	ExitLost     = 74 // exec, which has no output: the lock was lost
	ExitBusy     = 75 // somebody else holds the lock

	ExitCannotRun = 126
	ExitNotFound  = 127
	exitSignal    = 128
)

// OutcomeNoQuorum is the outcome in documents of several commands if too few masters answered.
const OutcomeNoQuorum = "no-quorum"

// A UsageError is a mistake in the arguments: only other arguments help.
type UsageError struct{ Err error }

func Usagef(format string, args ...any) error { return &UsageError{fmt.Errorf(format, args...)} }

func (e *UsageError) Error() string { return e.Err.Error() }
func (e *UsageError) Unwrap() error { return e.Err }

// An OutputError says that the output could not be written.
type OutputError struct{ Err error }

func (e *OutputError) Error() string { return "writing the output: " + e.Err.Error() }
func (e *OutputError) Unwrap() error { return e.Err }

// A CodeError ends the process with its code. Without err, no message is printed.
type CodeError struct {
	Code   int
	Signal syscall.Signal // ends the process, so that a shell ends its script, too; 0: none
	Group  bool           // the signal goes to the whole process group
	err    error
}

func (e *CodeError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *CodeError) Unwrap() error { return e.err }

// ExitCode returns the exit code for the error with which a command ended.
func ExitCode(err error) int {
	var withCode *CodeError
	var bySignal *SignalError
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &withCode):
		return withCode.Code
	case errors.As(err, &bySignal):
		return exitSignal + int(bySignal.Signal)
	case errors.As(err, new(*UsageError)):
		return ExitUsage
	case errors.As(err, new(*OutputError)):
		return ExitOutput
	default:
		return ExitSoftware
	}
}

// EndsWith returns err with the exit code of the process.
func EndsWith(code int, err error) error { return &CodeError{Code: code, err: err} }

// Silently returns an error with the exit code and signal of err, which was reported, and no text.
func Silently(err error) error {
	signal, group := signalOf(err)
	return &CodeError{Code: ExitCode(err), Signal: signal, Group: group}
}

// signalOf returns the signal that has to end the process, and whether its group gets it, too.
func signalOf(err error) (s syscall.Signal, group bool) {
	if code, ok := errors.AsType[*CodeError](err); ok {
		return code.Signal, code.Group
	}
	if bySignal, ok := errors.AsType[*SignalError](err); ok {
		return bySignal.Signal, false
	}
	return 0, false
}

// InspectionError returns the command's error for a failed inspection. A bad key is a usage error.
func InspectionError(ctx context.Context, err error) error {
	if ctx.Err() != nil || errors.Is(err, redlock.ErrClosed) {
		return err
	}
	return InFlags(err)
}

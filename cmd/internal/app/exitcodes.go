package app

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/redquorum/redquorum/redlock"
)

// Exit codes: those of sysexits.h where it has one, and those of a shell for
// signals.
const (
	ExitOK       = 0
	ExitFailed   = 1  // an expectation did not hold
	ExitUsage    = 64 // unknown flag, bad value, bad list of masters
	ExitNoQuorum = 69 // too few masters can be reached
	ExitSoftware = 70 // anything that should not happen; exec: a key that nobody will release
	ExitOS       = 71 // a process or a port could not be had
	ExitOutput   = 74 // the output could not be written
	ExitLost     = 74 // exec, which has no output: the lock was lost
	ExitBusy     = 75 // somebody else holds the lock

	ExitCannotRun = 126
	ExitNotFound  = 127
	exitSignal    = 128
)

// OutcomeNoQuorum is, in the documents of several commands, that too few masters answered.
const OutcomeNoQuorum = "no-quorum"

// A UsageError is what only other arguments mend.
type UsageError struct{ Err error }

func Usagef(format string, args ...any) error { return &UsageError{fmt.Errorf(format, args...)} }

func (e *UsageError) Error() string { return e.Err.Error() }
func (e *UsageError) Unwrap() error { return e.Err }

// An OutputError says that the output could not be written.
type OutputError struct{ Err error }

func (e *OutputError) Error() string { return "writing the output: " + e.Err.Error() }
func (e *OutputError) Unwrap() error { return e.Err }

// A CodeError ends the process with a code of its own. Without err there is
// nothing to be said about it.
type CodeError struct {
	Code   int
	Signal syscall.Signal // that ends the process, so that a shell ends its script, too; 0: none
	Group  bool           // it is for all of the process group
	err    error
}

func (e *CodeError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *CodeError) Unwrap() error { return e.err }

// ExitCode is the process's answer to how a command ended.
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

// EndsWith is an error after which the process ends with this code.
func EndsWith(code int, err error) error { return &CodeError{Code: code, err: err} }

// Silently is what remains of an error that has been told: how the process ends.
func Silently(err error) error {
	signal, group := signalOf(err)
	return &CodeError{Code: ExitCode(err), Signal: signal, Group: group}
}

// signalOf is the signal by which the process is to end.
func signalOf(err error) (s syscall.Signal, group bool) {
	if code, ok := errors.AsType[*CodeError](err); ok {
		return code.Signal, code.Group
	}
	if bySignal, ok := errors.AsType[*SignalError](err); ok {
		return bySignal.Signal, false
	}
	return 0, false
}

// InspectionError is what the command says of an inspection that failed: a bad
// key is the caller's mistake.
func InspectionError(ctx context.Context, err error) error {
	if ctx.Err() != nil || errors.Is(err, redlock.ErrClosed) {
		return err
	}
	return InFlags(err)
}

package metrics

import (
	"context"
	"errors"

	"github.com/redquorum/redquorum/redlock"
)

// AcquireResult is what became of a call or an attempt to acquire, as a label:
// acquired, taken, no_quorum, cancelled or refused. A call that gave up because
// its context's deadline passed is told by what it waited for.
func AcquireResult(err error) string { return callResults[callResult(err)] }

// RenewalResult is what became of a renewal, an extension or a verification, as
// a label: ok, failed or lost.
func RenewalResult(err error) string { return keepResults[keepResult(err)] }

// UnlockResult is what became of an Unlock, as a label: released, unconfirmed or
// not_held.
func UnlockResult(err error) string { return unlockResults[unlockResult(err)] }

func callResult(err error) int {
	switch {
	case err == nil:
		return callAcquired
	case errors.Is(err, context.Canceled), errors.Is(err, redlock.ErrClosed):
		return callEnded
	case errors.Is(err, redlock.ErrNoQuorum):
		return callNoQuorum
	case errors.Is(err, redlock.ErrTaken):
		return callTaken
	case errors.Is(err, context.DeadlineExceeded):
		return callEnded
	default:
		return callRefused
	}
}

func keepResult(err error) int {
	switch {
	case err == nil:
		return keepOK
	case errors.Is(err, redlock.ErrLost):
		return keepLost
	default:
		return keepFailed
	}
}

func unlockResult(err error) int {
	switch {
	case err == nil:
		return unlockReleased
	case errors.Is(err, redlock.ErrNotHeld):
		return unlockNotHeld
	default:
		return unlockUnconfirmed
	}
}

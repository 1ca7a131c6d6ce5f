package redlockotel

import (
	"context"
	"errors"

	"github.com/redquorum/redquorum/redlock"
)

// acquireResult is what became of a call or an attempt to acquire. A call that gave up
// because its context's deadline passed is told by what it waited for.
func acquireResult(err error) string {
	switch {
	case err == nil:
		return "acquired"
	case errors.Is(err, context.Canceled), errors.Is(err, redlock.ErrClosed):
		return "cancelled"
	case errors.Is(err, redlock.ErrNoQuorum):
		return "no_quorum"
	case errors.Is(err, redlock.ErrTaken):
		return "taken"
	case errors.Is(err, context.DeadlineExceeded):
		return "cancelled"
	default:
		return "refused"
	}
}

// renewalResult is what became of a renewal, an extension or a verification.
func renewalResult(err error) string {
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, redlock.ErrLost):
		return "lost"
	default:
		return "failed"
	}
}

func unlockResult(err error) string {
	switch {
	case err == nil:
		return "released"
	case errors.Is(err, redlock.ErrNotHeld):
		return "not_held"
	default:
		return "unconfirmed"
	}
}

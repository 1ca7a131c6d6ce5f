package redlockotel

import (
	"context"
	"errors"

	"github.com/redquorum/redquorum/redlock"
)

const endLost = "lost"

func holdEnd(i *redlock.ReleasedInfo) string {
	switch {
	case i.HandedOver:
		return "handed_over"
	case i.Lost == nil:
		return "unlocked"
	case i.Lost.Planned:
		return "planned"
	case i.Lost.Reason == redlock.ReasonClosed:
		return "closed"
	default:
		return endLost
	}
}

// acquireResult is the result of a call or an attempt to acquire. For a call that gave up because
// its context's deadline passed, it is what the call waited for: "taken" or "no_quorum".
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

// renewalResult is the result of a renewal, an extension or a verification.
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

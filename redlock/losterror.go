package redlock

import (
	"fmt"
	"strings"
)

// A Reason says how a lock was lost.
type Reason uint8

// Reasons of a LostError.
const (
	// ReasonExpired: its validity ran out, or a quorum no longer has the key.
	ReasonExpired Reason = iota + 1
	// ReasonTaken: another token stands where ours was, and ours has no
	// quorum any more.
	ReasonTaken
	// ReasonUnreachable: it could not be renewed in time, too few masters
	// answered.
	ReasonUnreachable
	// ReasonClosed: its client was closed.
	ReasonClosed
)

// String is the reason in one word.
func (r Reason) String() string {
	switch r {
	case ReasonExpired:
		return "expired"
	case ReasonTaken:
		return "taken"
	case ReasonUnreachable:
		return "unreachable"
	case ReasonClosed:
		return "closed"
	default:
		return fmt.Sprintf("Reason(%d)", uint8(r))
	}
}

// A LostError is the cause (context.Cause) of a lock's context that ended because
// the lock can no longer be guaranteed. It matches ErrLost; with ReasonClosed also
// ErrClosed.
type LostError struct {
	Key    string // the first of several
	Reason Reason
	// Err is the last *QuorumError of a renewal; nil: there was none. It is for
	// people: errors.Is and errors.As do not reach it, since a lock that was lost
	// is neither taken nor without a quorum.
	Err error
	// Planned is set where the hold ended as it was asked to: its lease was over,
	// or what it had after the last renewal that MaxHold or MaxCount permit. The
	// holder has to stop as after any loss; metrics and logs count it as none. The
	// Reason is ReasonExpired then.
	Planned bool
}

// Error is one line.
func (e *LostError) Error() string {
	s := fmt.Sprintf("redlock: lock %q lost: %v", e.Key, e.Reason)
	if e.Planned {
		s += " as planned (WithLease, MaxHold or MaxCount)"
	}
	if e.Err != nil {
		s += ": " + strings.TrimPrefix(e.Err.Error(), "redlock: ")
	}
	return s
}

// Is matches ErrLost, and ErrClosed where that is the reason.
func (e *LostError) Is(target error) bool {
	return target == ErrLost || target == ErrClosed && e.Reason == ReasonClosed
}

// A notHeldError is what an operation on a handle without a hold returns. It
// matches ErrNotHeld, and why the hold is gone: a *LostError or ErrUnlocked.
type notHeldError struct {
	op, key string
	why     error
}

func (e *notHeldError) Error() string {
	return fmt.Sprintf("redlock: %s %q: %v: %s", e.op, e.key, ErrNotHeld, strings.TrimPrefix(e.why.Error(), "redlock: "))
}

func (e *notHeldError) Unwrap() []error { return []error{ErrNotHeld, e.why} }

// A notAttemptedError is for an operation whose context was over before it began.
type notAttemptedError struct {
	op, key string
	why     error
}

func (e *notAttemptedError) Error() string {
	return fmt.Sprintf("redlock: %s %q: nothing was attempted: %v", e.op, e.key, e.why)
}

func (e *notAttemptedError) Unwrap() error { return e.why }

// A kindError refuses to make a reader's what is no lock of one key.
type kindError struct{ op, key string }

func (e *kindError) Error() string {
	return fmt.Sprintf("redlock: %s %q: only the lock of one key can become a reader's", e.op, e.key)
}

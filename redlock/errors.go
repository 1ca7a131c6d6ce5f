package redlock

import (
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/hashicorp/go-multierror"
)

// Sentinels: what to do next. Compare with errors.Is.
var (
	// ErrTaken: somebody else holds the lock. Wait or give up.
	ErrTaken = errors.New("taken")
	// ErrNoQuorum: too few masters can be reached or may vote. Page someone.
	ErrNoQuorum = errors.New("no quorum")
	// ErrLost: the lock was held and can no longer be guaranteed. Stop.
	ErrLost = errors.New("lost")
	// ErrNotHeld: this handle does not hold what it was asked to extend,
	// verify or unlock. Operations after a loss match ErrLost as well, those
	// after Unlock match ErrUnlocked as well.
	ErrNotHeld = errors.New("not held")
	// ErrUnlocked: the lock was unlocked by its owner.
	ErrUnlocked = errors.New("unlocked")
	// ErrReentrant: the context already carries a hold on this key by this
	// client; waiting for it would be waiting for oneself.
	ErrReentrant = errors.New("already held under this context")
	// ErrClosed: the client is closed.
	ErrClosed = errors.New("client is closed")
)

// ErrNotAwaited is the Err of a *NodeError whose master was not asked, or had not
// answered when the attempt was decided. Its answer could not have changed the
// decision. It is no failure of that master, and it matches none of the errors
// above.
var ErrNotAwaited = errors.New("not awaited: the attempt was decided without it")

// A QuorumError says how an operation on N masters failed. Where an acquisition
// failed it matches ErrTaken or ErrNoQuorum. For other operations it matches
// ErrNotHeld where too many masters say that the lock is not there, and ErrNoQuorum
// where too few answered. If a context ended the call, it also matches that
// context's error. NodeErrors gives the answer of each master. errors.As finds the
// first *NodeError, *HeldError or *AbstainError.
type QuorumError struct {
	Op      string        // lock, adopt, extend, verify, downgrade, unlock, ready or init
	Key     string        // the first of several
	OK      int           // masters that agreed
	Need    int           // masters that had to
	Total   int           // masters there are
	Elapsed time.Duration // for how long the call has lasted
	// Nodes has a *NodeError for each master that did not agree, in the order of
	// the masters; nil if all did. Those that were not waited for are named with
	// ErrNotAwaited. NodeErrors ranges over them.
	Nodes *multierror.Error

	others int   // keys beside the first
	kind   error // ErrTaken or ErrNoQuorum
	cause  error // the context's error, or nil
	note   string
	clock  *ClockError // this client's clock is what is wrong; or nil
}

// Error is one line.
func (e *QuorumError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "redlock: %s", e.Op)
	if e.Key != "" {
		fmt.Fprintf(&b, " %q", e.Key)
	}
	if e.others > 0 {
		fmt.Fprintf(&b, " and %d more", e.others)
	}
	fmt.Fprintf(&b, ": %v", e.kind)
	if e.cause != nil {
		fmt.Fprintf(&b, " (%v)", e.cause)
	}
	fmt.Fprintf(&b, ": %d of %d masters agreed, %d needed, after %v", e.OK, e.Total, e.Need, e.Elapsed.Round(time.Microsecond))
	if e.note != "" {
		b.WriteString(": " + e.note)
	}
	if e.clock != nil {
		b.WriteString(": " + e.clock.Error())
	}
	if e.Nodes != nil {
		b.WriteString(": " + e.Nodes.Error())
	}
	return b.String()
}

// NodeErrors ranges over the *NodeError of each master that did not agree, in the
// order of the masters: what Nodes has.
func (e *QuorumError) NodeErrors() iter.Seq[*NodeError] {
	return func(yield func(*NodeError) bool) {
		if e.Nodes == nil {
			return
		}
		for _, err := range e.Nodes.Errors {
			if n, ok := err.(*NodeError); ok && !yield(n) { //nolint:errorlint // they are never wrapped
				return
			}
		}
	}
}

// Unwrap gives the kind, the context's error and the causes; nil is left out,
// since errors.As would stumble over a nil *multierror.Error.
func (e *QuorumError) Unwrap() []error {
	all := []error{e.kind}
	if e.cause != nil {
		all = append(all, e.cause)
	}
	if e.clock != nil {
		all = append(all, e.clock)
	}
	if e.Nodes != nil {
		all = append(all, e.Nodes)
	}
	return all
}

// A NodeError is what one master contributed to a failure.
type NodeError struct {
	Master string // address
	Op     string // as in QuorumError
	// Err is a *HeldError, an *AbstainError, a *SkewError, one of package pool's
	// errors, the master's error reply, or ErrNotAwaited. It matches no sentinel of
	// the whole operation and no context's error, so that one master's answer is
	// not mistaken for that of all.
	Err error
}

// Error is the master's address and the text of Err.

func (e *NodeError) Error() string { return e.Master + ": " + e.Err.Error() }

// Unwrap gives Err.
func (e *NodeError) Unwrap() error { return e.Err }

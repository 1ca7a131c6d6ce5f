package redlock

import (
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/go-multierror"

	tokens "github.com/redquorum/redquorum/internal/token"
	"github.com/redquorum/redquorum/internal/wire"
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
	fmt.Fprintf(&b, ": %d of %d masters agreed, %d needed, after %v", e.OK, e.Total, e.Need, max(e.Elapsed, 0).Round(time.Microsecond))
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

// A HeldError describes the key on a master where it is somebody else's, as it was
// read right after the refusal. What the master did not tell is zero.
type HeldError struct {
	// Token is the value of the key, its first 256 bytes. With it the lock can be
	// released and adopted: keep it out of logs. Texts show its beginning alone.
	Token string
	Owner string        // the name its owner gave with WithOwner, if it is a client of this library
	TTL   time.Duration // until the key expires; 0: unknown; negative: never
	Key   string        // the one that is in the way, of a lock of several keys
	// Type is one of
	//   - "string": a lock;
	//   - "zset": the readers of a read-write lock;
	//   - "none": free by the time it was looked at;
	//   - "intent": free, but a writer waits, so that a reader is refused;
	//   - "lease": the key is gone, the lease record of its holder is not (GuardStrict);
	//   - another type of Redis: the key is no lock;
	//   - "": not known.
	Type    string
	Readers int // how many readers hold the lock
	// Own is set where this client itself took the lock. It may hold it in another call,
	// or have handed it over (see Lock.HandOver), or have released it, which this master
	// has refused or not yet done.
	Own bool
}

// Error is who holds the key and for how long, in words.
func (e *HeldError) Error() string {
	if e.Key != "" {
		return fmt.Sprintf("%q: %s", e.Key, e.what())
	}
	return e.what()
}

func (e *HeldError) what() string {
	switch {
	case e.Type == "":
		return "held by another"
	case e.Type == "none":
		return "was held by another, is free now"
	case e.Type == wire.LeaseType:
		return "leased to " + e.holder() + e.left("") + ", though its key is gone"
	case e.Type == wire.IntentType:
		return "kept for a writer that waits"
	case e.Readers == 1:
		return "held by a reader" + e.left("")
	case e.Readers > 1:
		return fmt.Sprintf("held by %d readers", e.Readers) + e.left("at most ")
	case e.Type != "string":
		return fmt.Sprintf("the key is a %s, not a lock", e.Type)
	}
	if e.Own { // and perhaps handed over or released since
		return "taken by " + e.holder() + e.left("")
	}
	return "held by " + e.holder() + e.left("")
}

// left says for how long a key is held, as far as that is known.
func (e *HeldError) left(most string) string {
	switch {
	case e.TTL > 0:
		return fmt.Sprintf(" for %s%v more", most, e.TTL)
	case e.TTL < 0:
		return " without an expiry"
	default:
		return ""
	}
}

// holder is who holds a lock, as far as people are told.
func (e *HeldError) holder() string {
	s := "another"
	switch {
	case e.Own && e.Owner != "":
		s = fmt.Sprintf("this client itself, %q", e.Owner)
	case e.Own:
		s = "this client itself"
	case e.Owner != "":
		s = strconv.Quote(e.Owner)
	}
	if e.Token != "" {
		s += fmt.Sprintf(" (token %q)", tokens.Short(e.Token))
	}
	return s
}

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

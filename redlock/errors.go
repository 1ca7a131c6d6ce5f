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
	"github.com/redquorum/redquorum/pool"
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
	// ErrReentrant: the context already carries a hold of this client on this key; the call would
	// wait for itself.
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
// first *NodeError, *Holder or *AbstainError.
type QuorumError struct {
	Op      string        // lock, adopt, extend, verify, unlock, ready or init
	Key     string        // the first of several
	OK      int           // masters that agreed
	Need    int           // masters that had to agree
	Total   int           // all masters
	Elapsed time.Duration // how long the call has lasted
	// Nodes has a *NodeError for each master that did not agree, in the order of the masters; nil
	// if all did. ErrNotAwaited marks the masters that were not waited for. NodeErrors ranges over
	// them.
	Nodes *multierror.Error

	others int   // keys beside the first
	kind   error // ErrTaken, ErrNoQuorum or ErrNotHeld
	cause  error // the context's error, or nil
	note   string
}

// Error returns one line. It names masters with the same reason together, and only counts the
// masters that were not awaited: NodeErrors has each.
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
	fmt.Fprintf(&b, ": %d of %d masters agreed, ", e.OK, e.Total)
	if n := e.notAwaited(); n > 0 {
		fmt.Fprintf(&b, "%d not awaited, ", n)
	}
	fmt.Fprintf(&b, "%d needed, after %v", e.Need, max(e.Elapsed, 0).Round(time.Microsecond))
	if e.note != "" {
		b.WriteString(": " + e.note)
	}
	if e.Nodes != nil {
		if reasons := e.Nodes.Error(); reasons != "" {
			b.WriteString(": " + reasons)
		}
	}
	return b.String()
}

func (e *QuorumError) notAwaited() (n int) {
	for node := range e.NodeErrors() {
		if node.Err == ErrNotAwaited { //nolint:errorlint // they are never wrapped
			n++
		}
	}
	return n
}

// NodeErrors ranges over Nodes: the *NodeError of each master that did not agree, in the order of
// the masters.
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

// Unwrap gives the kind, the context's error and the causes. It leaves out nil, because errors.As
// would find a nil *multierror.Error.
func (e *QuorumError) Unwrap() []error {
	all := []error{e.kind}
	if e.cause != nil {
		all = append(all, e.cause)
	}
	if e.Nodes != nil {
		all = append(all, e.Nodes)
	}
	return all
}

// A NodeError says why one master did not agree.
type NodeError struct {
	Master string // address
	Op     string // as in QuorumError
	// Err is a *Holder, an *AbstainError, one of package pool's errors, the master's error reply,
	// or ErrNotAwaited. It matches no sentinel of the whole operation and no context's error, so
	// that nobody mistakes one master's answer for the answer of all.
	Err error

	position int // in the list of masters, from 1; 0: not known
}

// Error is the master's address and the text of Err. If the master refuses this client, its
// position in the list follows the address.
func (e *NodeError) Error() string { return e.name() + ": " + e.Err.Error() }

// name is the master's address, with its position if its configuration has to be corrected.
func (e *NodeError) name() string {
	if _, refused := errors.AsType[*pool.ConfigError](e.Err); refused && e.position > 0 {
		return fmt.Sprintf("%s (master %d)", e.Master, e.position)
	}
	return e.Master
}

// Unwrap gives Err.
func (e *NodeError) Unwrap() error { return e.Err }

// A Holder describes what a lock's key contains. As the Err of a *NodeError it is what one master
// had right after the refusal. In an [Inspection] it is one token, on all masters that have it. A
// field that a master did not report is zero.
type Holder struct { //nolint:errname // it stands in inspections too
	// Token is the value of the key, its first 256 bytes; "" if the key is not a lock's. It is
	// enough to release or adopt the lock: keep it out of logs. Texts show only its beginning.
	Token string
	Owner string // the name its owner gave with WithOwner, if it is a client of this library
	// TTL is the time until the key expires; 0: unknown; negative: never. On several masters it is
	// the time until so many keys have expired that the holder has no quorum any more; without a
	// quorum, until the last one has. The holder's own validity is shorter: it allows for elapsed
	// time and clock drift.
	TTL time.Duration
	Key string // the key that is in the way, for a lock of several keys
	// Type is one of
	//   - "string": a lock;
	//   - "zset": the readers of a read-write lock, or one of them;
	//   - "none": free by the time it was looked at;
	//   - "called": free, but reserved for a waiter that was called: it has the lock in a moment,
	//     or is gone;
	//   - "intent": free, but a writer waits, so that a reader is refused;
	//   - "lease": the key is gone, but its holder's lease record is not (GuardStrict);
	//   - another type of Redis: the key is no lock;
	//   - "": not known.
	Type    string
	Readers int // how many readers hold the lock
	Masters int // how many masters have it; 1 in the answer of one master
	// Own is set if this client itself took the lock. The client may hold it in another call, have
	// handed it over (see Lock.HandOver), or have released it, and this master has refused the
	// release or not yet executed it.
	Own bool
	// Stuck is set if nobody will release the key, however long a call waits: it is no lock, or it
	// never expires. Every lock of this library expires.
	Stuck bool
}

// Error says who holds the key and for how long.
func (h *Holder) Error() string {
	if h.Key != "" {
		return fmt.Sprintf("%q: %s", h.Key, h.what())
	}
	return h.what()
}

func (h *Holder) what() string {
	switch {
	case h.Type == "":
		return "held by another"
	case h.Type == "none":
		return "was held by another, is free now"
	case h.Type == wire.CalledType:
		return "is free, and another client was called for it"
	case h.Type == wire.LeaseType:
		return "leased to " + h.holder() + h.left("") + ", though its key is gone"
	case h.Type == wire.IntentType:
		return "kept for a writer that waits"
	case h.Readers == 1:
		return "held by a reader" + h.left("")
	case h.Readers > 1:
		return fmt.Sprintf("held by %d readers", h.Readers) + h.left("at most ")
	case h.Type != "string":
		return fmt.Sprintf("the key is a %s, not a lock", h.Type)
	}
	if h.Own { // and perhaps handed over or released since
		return "taken by " + h.holder() + h.left("")
	}
	return "held by " + h.holder() + h.left("")
}

// left says for how much longer a key is held, if that is known.
func (h *Holder) left(most string) string {
	switch {
	case h.TTL > 0:
		return fmt.Sprintf(" for %s%v more", most, h.TTL)
	case h.TTL < 0:
		return " without an expiry"
	default:
		return ""
	}
}

// holder names the holder for people, with only the beginning of its token.
func (h *Holder) holder() string {
	s := "another"
	switch {
	case h.Own && h.Owner != "":
		s = fmt.Sprintf("this client itself, %q", h.Owner)
	case h.Own:
		s = "this client itself"
	case h.Owner != "":
		s = strconv.Quote(h.Owner)
	}
	if h.Token != "" {
		s += fmt.Sprintf(" (token %q)", tokens.Short(h.Token))
	}
	return s
}

// A Reason says how a lock was lost, in one word.
type Reason string

// Reasons of a LostError.
const (
	// ReasonExpired: its validity ran out, or a quorum no longer has the key.
	ReasonExpired Reason = "expired"
	// ReasonTaken: another token has replaced ours, which has no quorum any more.
	ReasonTaken Reason = "taken"
	// ReasonUnreachable: it could not be renewed in time because too few masters answered.
	ReasonUnreachable Reason = "unreachable"
	// ReasonClosed: its client was closed.
	ReasonClosed Reason = "closed"
)

// A LostError is the cause (context.Cause) of a lock's context that ended because
// the lock can no longer be guaranteed. It matches ErrLost; with ReasonClosed also
// ErrClosed.
type LostError struct {
	Key    string // the first of several
	Reason Reason
	// Err is the *QuorumError of the last renewal or of the release; nil: there was none. It is for
	// people: errors.Is and errors.As do not reach it, because a lost lock is neither taken nor
	// without a quorum.
	Err error
	// Planned is set if the hold ended as its options say: its lease ended, or its validity after
	// the last renewal that MaxHold or MaxCount permit. The holder has to stop as after any loss,
	// but metrics and logs do not count it as one. The Reason is then ReasonExpired.
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

// A notHeldError is the error of an operation on a handle without a hold. It matches ErrNotHeld,
// and the reason why the hold is gone: a *LostError or ErrUnlocked.
type notHeldError struct {
	op, key string
	why     error
}

func (e *notHeldError) Error() string {
	why := strings.TrimPrefix(e.why.Error(), "redlock: ")
	return fmt.Sprintf("redlock: %s %q: %v: %s", e.op, e.key, ErrNotHeld, why)
}

func (e *notHeldError) Unwrap() []error { return []error{ErrNotHeld, e.why} }

// A notAttemptedError is for an operation whose context had ended before it began.
type notAttemptedError struct {
	op, key string
	why     error
}

func (e *notAttemptedError) Error() string {
	return fmt.Sprintf("redlock: %s %q: nothing was attempted: %v", e.op, e.key, e.why)
}

func (e *notAttemptedError) Unwrap() error { return e.why }

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
// first *NodeError, *Holder or *AbstainError.
type QuorumError struct {
	Op      string        // lock, adopt, extend, verify, unlock, ready or init
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
}

// Error is one line. Masters with the same reason stand together, and of those that were not awaited only
// the number: NodeErrors has each.
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

// notAwaited counts the masters that were not waited for.
func (e *QuorumError) notAwaited() (n int) {
	for node := range e.NodeErrors() {
		if node.Err == ErrNotAwaited { //nolint:errorlint // they are never wrapped
			n++
		}
	}
	return n
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
	if e.Nodes != nil {
		all = append(all, e.Nodes)
	}
	return all
}

// A NodeError is what one master contributed to a failure.
type NodeError struct {
	Master string // address
	Op     string // as in QuorumError
	// Err is a *Holder, an *AbstainError, one of package pool's
	// errors, the master's error reply, or ErrNotAwaited. It matches no sentinel of
	// the whole operation and no context's error, so that one master's answer is
	// not mistaken for that of all.
	Err error

	position int // in the list of masters, from 1; 0: not known
}

// Error is the master's address and the text of Err. Where the master refuses this client, its
// position in the list stands behind the address.
func (e *NodeError) Error() string { return e.name() + ": " + e.Err.Error() }

// name is the master's address, and where somebody has to mend its configuration its position too.
func (e *NodeError) name() string {
	if _, refused := errors.AsType[*pool.ConfigError](e.Err); refused && e.position > 0 {
		return fmt.Sprintf("%s (master %d)", e.Master, e.position)
	}
	return e.Master
}

// Unwrap gives Err.
func (e *NodeError) Unwrap() error { return e.Err }

// A Holder is what stands at a lock's key: on one master, as it was read right after the
// refusal, it is the Err of a *NodeError; in an [Inspection] it is a token on all masters that
// have it. What a master did not tell is zero.
type Holder struct { //nolint:errname // it stands in inspections too
	// Token is the value of the key, its first 256 bytes; "" where the key is not a lock's. With
	// it the lock can be released and adopted: keep it out of logs. Texts show its beginning
	// alone.
	Token string
	Owner string // the name its owner gave with WithOwner, if it is a client of this library
	// TTL is until the key expires; 0: unknown; negative: never. On several masters it is how
	// long until the keys of so many have expired that the holder has no quorum any more; for one
	// without a quorum, until the last has. The holder has less: it allows for elapsed time
	// and clock drift.
	TTL time.Duration
	Key string // the one that is in the way, of a lock of several keys
	// Type is one of
	//   - "string": a lock;
	//   - "zset": the readers of a read-write lock, or one of them;
	//   - "none": free by the time it was looked at;
	//   - "called": free, and kept for a client that was called for it: it has the lock in a
	//     moment, or is gone;
	//   - "intent": free, but a writer waits, so that a reader is refused;
	//   - "lease": the key is gone, the lease record of its holder is not (GuardStrict);
	//   - another type of Redis: the key is no lock;
	//   - "": not known.
	Type    string
	Readers int // how many readers hold the lock
	Masters int // on how many masters it stands; 1 for what one master says
	// Own is set where this client itself took the lock. It may hold it in another call,
	// or have handed it over (see Lock.HandOver), or have released it, which this master
	// has refused or not yet done.
	Own bool
	// Stuck is set where nobody will release the key, however long a call waits: it is no
	// lock, or never expires, as no lock of this library does.
	Stuck bool
}

// Error is who holds the key and for how long, in words.
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

// left says for how long a key is held, as far as that is known.
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

// holder is who holds a lock, as far as people are told.
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
	// ReasonTaken: another token stands where ours was, and ours has no
	// quorum any more.
	ReasonTaken Reason = "taken"
	// ReasonUnreachable: it could not be renewed in time, too few masters
	// answered.
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
	why := strings.TrimPrefix(e.why.Error(), "redlock: ")
	return fmt.Sprintf("redlock: %s %q: %v: %s", e.op, e.key, ErrNotHeld, why)
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

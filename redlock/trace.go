package redlock

import (
	"context"
	"time"

	"github.com/redquorum/redquorum/drift"
)

// A Trace reports what a client does, in the manner of net/http/httptrace. Any function may be nil,
// and then costs nothing. The functions must be safe for concurrent use. None is called while a
// mutex of the library is held. [JoinTraces] joins several traces.
//
// The goroutine of a call of the program reports what that call does, and waits meanwhile: Begin,
// Node, Attempt, Retry, Wait, Held, Extend and Unlock, and the Released of an Unlock or HandOver.
// One goroutine of the client reports the rest, in the order in which it happened: Renewal and its
// Nodes, Lost and its Released, and Clock. So a function that is slow or blocks delays only the
// goroutine that calls it. It costs no lock its validity. The events of the one goroutine wait
// meanwhile, each with the time at which it happened. At most 4,096 renewals, clock events and log
// lines wait; more are dropped and counted in Stats.EventsDropped. Losses are never dropped. A
// waiting event of a lock may be reported after the Released of its Unlock.
//
// The events of one lock come in this order: Begin; for each attempt Node, then Held if the attempt
// succeeded, then Attempt, with a Retry between two attempts; Wait. After Held, Renewal, Extend and
// Lost may come, also before Wait. Begin and Wait come in pairs with the same Key, and so do Held
// and Released. So you can count the calls that wait and the locks that are held, by key too.
//
// The lock that Held gets is already held, and Held may use it: unlock it or hand it over, for
// example. What happens to it before Held has returned is reported after that, by the same
// goroutine, except what Extend and Unlock report.
//
// A function that panics ends the goroutine that called it, unless the caller recovers. A lock that
// is held by then stays held, and is renewed, until Close, because no caller has it to unlock it.
// If Node panics, its attempt is rolled back. If Held panics, nothing more is reported of that
// lock.
//
// The Context in an event is the one that Begin or Held made from the caller's, for spans or log
// fields. It is never nil. The library itself works under the caller's own context, so a trace
// cannot cancel or prolong anything.
type Trace struct {
	// Begin is called when a call that acquires or adopts begins. Its result is the Context of all
	// later events of the call; nil: ctx.
	Begin func(ctx context.Context, info BeginInfo) context.Context
	// Attempt is called when an attempt to acquire has been decided.
	Attempt func(AttemptInfo)
	// Node is called once for each master when an attempt, extension or release has been decided,
	// in the order of the masters. pool.Stats counts later answers, and how long masters take that
	// no call waits for.
	Node func(NodeInfo)
	// Retry is called before Lock pauses, with the attempt that failed.
	Retry func(AttemptInfo)
	// Wait is called when a call that acquires or adopts ends.
	Wait func(WaitInfo)
	// Held is called when a hold begins, once for all handles on it; ctx is the Context of the call
	// that acquired it. Its result is the Context of all later events of the hold; nil: one without
	// values, so that a long hold does not keep what the call's context refers to.
	Held func(ctx context.Context, l *Lock) context.Context
	// Renewal is called when a renewal has been decided.
	Renewal func(ExtendInfo)
	// Extend is called when an Extend or Verify has been decided.
	Extend func(ExtendInfo)
	// Lost is called once when a lock is lost, also if Unlock finds that out. The client's Close
	// loses all locks that are held, with ReasonClosed. A lease, or a hold that MaxHold or MaxCount
	// bounds, ends with LostError.Planned.
	Lost func(l *Lock, err *LostError)
	// Released is called once when a hold has ended, for any reason. The lock's context has ended,
	// and Remaining is 0.
	Released func(ReleasedInfo)
	// Unlock is called when an Unlock has been decided, also by Do, for each handle on a hold.
	// Close unlocks without calling it.
	Unlock func(UnlockInfo)
	// Clock is called when the client sees that a master's clock was set, or runs faster or slower
	// than WithDrift allows for. Not at GuardOff.
	Clock func(master string, d *drift.Deviation, at time.Time)
}

// BeginInfo describes a call that acquires or adopts.
type BeginInfo struct {
	Op   string   // lock or adopt
	Key  string   // the first of several
	Keys []string // all of them where there are several, else nil
	Once bool     // it makes one attempt, as TryLock does
}

// AttemptInfo describes an attempt to acquire.
type AttemptInfo struct {
	Key     string // the first of several
	Token   string // of this attempt; "": no master was asked
	Attempt int    // counted from 1 within one call
	OK      int    // masters that had granted it by then; late ones are not counted
	Need    int    // masters that had to grant it
	Elapsed time.Duration
	Delay   time.Duration // how long the next pause will be; only for Retry
	Err     error         // nil: acquired; else a *QuorumError
	Context context.Context
}

// NodeInfo describes one master's part in an operation when that was decided.
type NodeInfo struct {
	Op      string // as in QuorumError
	Key     string
	Token   string
	Master  string
	Latency time.Duration // from the question to its answer; 0: there was none by then
	Refused bool          // another holds the key, or ours is not there
	Err     error         // nil: agreed; ErrNotAwaited: the attempt was decided before the answer came
	At      time.Time     // when it was decided
	Context context.Context
}

// WaitInfo describes the end of a call that acquires or adopts.
type WaitInfo struct {
	Op       string        // lock or adopt
	Key      string        // as in Begin: for LockAny the first of its keys; Lock knows which one it is
	Attempts int           // 0: the lock was held under the call's context (WithReentrancy)
	Waited   time.Duration // from the start of the call to its end
	Lock     *Lock         // nil with Err
	Err      error         // what the call returns
	Context  context.Context
}

// ExtendInfo describes an Extend, a Verify or a renewal.
type ExtendInfo struct {
	Lock      *Lock
	Op        string // extend or verify
	Key       string
	Count     int // renewals that succeeded so far; only for a renewal
	Elapsed   time.Duration
	Remaining time.Duration   // validity that is left when it is decided
	Err       error           // what the call returns; a renewal is tried again unless it matches ErrLost
	At        time.Time       // when it was decided
	Context   context.Context // the caller's; for a renewal, the hold's
}

// ReleasedInfo describes a hold that has ended: it was unlocked, handed over, or lost.
type ReleasedInfo struct {
	Lock       *Lock
	Key        string
	Token      string
	Held       time.Duration // from the start of the attempt that acquired it until the end was noticed
	Renewals   int           // that succeeded
	HandedOver bool          // to another process, by HandOver
	Lost       *LostError    // how it was lost, before it was unlocked or as Unlock found out; nil: it was not
	At         time.Time     // when the end was noticed
	Context    context.Context
}

// UnlockInfo describes a release.
type UnlockInfo struct {
	Lock    *Lock
	Key     string
	Token   string
	Held    time.Duration // since the lock was acquired
	OK      int           // masters that had confirmed it by now; late ones are not counted
	Need    int           // masters that had to confirm it; 0: no master was asked
	Elapsed time.Duration
	Err     error
	Context context.Context // the caller's
	Hold    context.Context // the hold's
}

// JoinTraces returns a trace that calls each of traces, in their order; it leaves out nil ones. A
// function that none of them has is nil, and costs nothing. In Begin and Held each trace gets the
// context that the one before it made.
func JoinTraces(traces ...*Trace) *Trace {
	joined := &Trace{}
	for _, t := range traces {
		if t == nil {
			continue
		}
		joined.Begin = chain(joined.Begin, t.Begin)
		joined.Attempt = both(joined.Attempt, t.Attempt)
		joined.Node = both(joined.Node, t.Node)
		joined.Retry = both(joined.Retry, t.Retry)
		joined.Clock = bothOfThree(joined.Clock, t.Clock)
		joined.Wait = both(joined.Wait, t.Wait)
		joined.Held = chain(joined.Held, t.Held)
		joined.Renewal = both(joined.Renewal, t.Renewal)
		joined.Extend = both(joined.Extend, t.Extend)
		joined.Lost = bothOfTwo(joined.Lost, t.Lost)
		joined.Released = both(joined.Released, t.Released)
		joined.Unlock = both(joined.Unlock, t.Unlock)
	}
	return joined
}

func both[T any](a, b func(T)) func(T) {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return func(info T) { a(info); b(info) }
}

func bothOfTwo[T, U any](a, b func(T, U)) func(T, U) {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return func(t T, u U) { a(t, u); b(t, u) }
}

func bothOfThree[T, U, V any](a, b func(T, U, V)) func(T, U, V) {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return func(t T, u U, v V) { a(t, u, v); b(t, u, v) }
}

func chain[T any](a, b func(context.Context, T) context.Context) func(context.Context, T) context.Context {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return func(ctx context.Context, info T) context.Context {
		made := a(ctx, info)
		inner := made
		if inner == nil {
			inner = ctx
		}
		if last := b(inner, info); last != nil {
			return last
		}
		return made
	}
}

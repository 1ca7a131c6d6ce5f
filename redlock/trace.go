package redlock

import (
	"context"
	"time"

	"github.com/redquorum/redquorum/drift"
)

// A Trace hears what a client does, in the manner of net/http/httptrace. Any
// function may be nil, and then costs nothing. They must be safe for concurrent use.
// None is called while a lock of the library is held. [JoinTraces] joins several traces.
//
// What a call of the program does is told by the goroutine of that call, which waits:
// Begin, Node, Attempt, Retry, Wait, Held, Extend and Unlock, and the Released of an
// Unlock or HandOver. The rest is told by one goroutine of the client, in the order in
// which it happened: Renewal and its Nodes, Lost and its Released, and Clock. So a
// function that is slow or blocks delays only what it is called by. It costs no lock
// its validity. What the one goroutine has to tell waits meanwhile, each event with the
// time at which it happened. Of renewals and clocks, and of log lines, 4,096 wait; more
// are dropped and counted in Stats.EventsDropped. Losses always find room. What still
// waits for a lock may be told after the Released of its Unlock.
//
// The events of one lock come in this order: Begin; for each attempt Node, then Held
// if the attempt succeeded, then Attempt, with a Retry between two attempts; Wait.
// From Held on Renewal, Extend and Lost may come, also before Wait. Begin and Wait
// come in pairs with the same Key, and so do Held and Released. So you can count the
// calls that wait and the locks that are held, by key too.
//
// The lock that Held is told of is held, and may be used: unlocked, say, or handed
// over. What happens to it before Held has returned is told after that, by the same
// goroutine, but for what Extend and Unlock tell.
//
// A function that panics ends the goroutine by which it is called, unless its caller
// recovers. A lock that is held by then stays held, and is renewed, until Close: nobody
// has it to unlock it. If Node panics, its attempt is rolled back. If Held panics, no more
// is told of that lock.
//
// The Context in an event is the one that Begin or Held made of the caller's, for
// spans or log fields. It is never nil. The library itself goes on under the
// caller's own context, so a trace cannot cancel or prolong anything.
type Trace struct {
	// Begin is called when a call that acquires or adopts begins. What it returns
	// is the Context of all else that is told of the call; nil: ctx.
	Begin func(ctx context.Context, info BeginInfo) context.Context
	// Attempt is called when an attempt to acquire has been decided.
	Attempt func(AttemptInfo)
	// Node is called once for each master when an attempt, extension or
	// release has been decided, in the order of the masters. What comes later, and how
	// long masters take that nobody waits for, is counted in pool.Stats.
	Node func(NodeInfo)
	// Retry is called before Lock pauses, with the attempt that failed.
	Retry func(AttemptInfo)
	// Wait is called when a call that acquires or adopts ends.
	Wait func(WaitInfo)
	// Held is called when a hold begins, once for all handles on it; ctx is the
	// Context of the call that acquired it. What it returns is the Context of all
	// else that is told of the hold; nil: one without values, so that a long hold
	// does not keep what the call's context refers to.
	Held func(ctx context.Context, l *Lock) context.Context
	// Renewal is called when a renewal has been decided.
	Renewal func(ExtendInfo)
	// Extend is called when an Extend or Verify has been decided.
	Extend func(ExtendInfo)
	// Lost is called once when a lock is lost, also where Unlock finds it out.
	// The client's Close loses what is held, with ReasonClosed; a lease, or a hold
	// that MaxHold or MaxCount bounds, ends with LostError.Planned.
	Lost func(l *Lock, err *LostError)
	// Released is called once when a hold has ended, however that came. The lock's
	// context has ended, and nothing remains.
	Released func(ReleasedInfo)
	// Unlock is called when an Unlock has been decided, also by Do, for each
	// handle on a hold. Close unlocks without it.
	Unlock func(UnlockInfo)
	// Clock is called when a master's clock was seen to be set, or to run faster
	// or slower than WithDrift allows for. Not at GuardOff.
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
	Token   string // of this attempt; "": nobody was asked
	Attempt int    // counted from 1 within one call
	OK      int    // masters that had granted it by then; late ones are not counted
	Need    int    // masters that had to
	Elapsed time.Duration
	Delay   time.Duration // how long the pause after it is going to be; of Retry alone
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
	Err     error         // nil: agreed; ErrNotAwaited: the decision fell before the answer came
	At      time.Time     // when it was decided
	Context context.Context
}

// WaitInfo describes the end of a call that acquires or adopts.
type WaitInfo struct {
	Op       string        // lock or adopt
	Key      string        // as Begin was told it: of LockAny the first of its keys, while Lock knows which one it is
	Attempts int           // 0: the lock was held under the call's context (WithReentrancy)
	Waited   time.Duration // from the start of the call to its end
	Lock     *Lock         // nil with Err
	Err      error         // what the call returns
	Context  context.Context
}

// ExtendInfo describes a question that the holder put to the masters, or a renewal.
type ExtendInfo struct {
	Lock      *Lock
	Op        string // extend or verify
	Key       string
	Count     int // renewals that succeeded so far; of a renewal alone
	Elapsed   time.Duration
	Remaining time.Duration   // validity that is left when it is decided
	Err       error           // what the call returns; a renewal's matches ErrLost at a loss, else it is tried again
	At        time.Time       // when it was decided
	Context   context.Context // the caller's; of a renewal the hold's
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
	Need    int           // masters that had to; 0: nobody was asked
	Elapsed time.Duration
	Err     error
	Context context.Context // the caller's
	Hold    context.Context // the hold's
}

// JoinTraces is a trace that calls each of traces, in their order; nil ones are left
// out. A function that none of them has is nil, and costs nothing. In Begin and Held
// each trace gets the context that the one before it made.
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

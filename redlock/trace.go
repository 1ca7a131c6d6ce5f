package redlock

import (
	"context"
	"fmt"
	"time"
)

// A Trace hears what a client does, in the manner of net/http/httptrace. Any
// function may be nil, and then costs nothing. The goroutine that does the work
// calls the functions and waits for them: they must not block, and must be safe for
// concurrent use. All but Reply are called while no lock of the library is held.
// [JoinTraces] joins several traces.
//
// The events of one lock come in this order: Begin; for each attempt Node, then Held
// if the attempt succeeded, then Attempt, with a Retry between two attempts; Wait.
// From Held on Renewal, Extend and Lost may come, also before Wait. Begin and Wait
// come in pairs with the same Key, and so do Held and Released. So you can count the
// calls that wait and the locks that are held, by key too.
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
	// release has been decided, in the order of the masters.
	Node func(NodeInfo)
	// Reply is called when a master's part in an operation has ended: with its
	// reply, also one that comes after the decision, or with the failure of its
	// connection. So it shows masters that are slow although nobody waits for
	// them. It may be called by the goroutine that reads the master's
	// connection and with locks of the library held: it must be quick, and must
	// not call the library. Questions to the waiting queue are not told.
	Reply func(ReplyInfo)
	// Retry is called before Lock pauses.
	Retry func(RetryInfo)
	// Wait is called when a call that acquires or adopts ends.
	Wait func(WaitInfo)
	// Held is called when a hold begins, once for all handles on it; ctx is the
	// Context of the call that acquired it. What it returns is the Context of all
	// else that is told of the hold; nil: one without values, so that a long hold
	// does not keep what the call's context refers to.
	Held func(ctx context.Context, info HeldInfo) context.Context
	// Renewal is called when a renewal has been decided.
	Renewal func(RenewalInfo)
	// Extend is called when an Extend, Verify or Downgrade has been decided.
	Extend func(ExtendInfo)
	// Lost is called once when a lock is lost, also where Unlock finds it out.
	// The client's Close loses what is held, with ReasonClosed; a lease, or a hold
	// that MaxHold or MaxCount bounds, ends with LostError.Planned.
	Lost func(l *Lock, err *LostError)
	// Released is called once when a hold has ended, however that came.
	Released func(ReleasedInfo)
	// Unlock is called when an Unlock has been decided, also by Do, for each
	// handle on a hold. Close unlocks without it.
	Unlock func(UnlockInfo)
	// Clock is called when a master's clock was seen to be set, or to run faster
	// or slower than WithDrift allows for. Not at GuardOff.
	Clock func(ClockInfo)
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
	Err     error // nil: acquired; else a *QuorumError
	Context context.Context
}

// NodeInfo describes one master's part in an operation when that was decided.
type NodeInfo struct {
	Op      string // as in QuorumError
	Key     string
	Token   string
	Master  string
	Latency time.Duration // from the question to its answer; 0: there was none by then
	Err     error         // nil: agreed; ErrNotAwaited: the decision fell before the answer came
	Context context.Context
}

// A ReplyResult is what a master's reply means for the operation.
type ReplyResult uint8

// Results of a reply.
const (
	ReplyAgreed  ReplyResult = iota + 1
	ReplyRefused             // another holds the key, or ours is not there
	ReplyFailed              // no usable reply
)

// String is the result in one word.
func (r ReplyResult) String() string {
	switch r {
	case ReplyAgreed:
		return "agreed"
	case ReplyRefused:
		return "refused"
	case ReplyFailed:
		return "failed"
	default:
		return fmt.Sprintf("ReplyResult(%d)", uint8(r))
	}
}

// ReplyInfo describes how one master's part in an operation ended.
type ReplyInfo struct {
	Op     string // as in QuorumError, or inspect
	Master string // address
	// Latency is the time from the question to the reply, queueing included.
	Latency time.Duration
	Result  ReplyResult
	Sent    bool  // the master may have seen the question
	Late    bool  // it came after the decision
	Expired bool  // the operation's deadline had passed: it counted as a failure
	Err     error // why there was no usable reply; with ReplyFailed alone
}

// RetryInfo describes a pause between attempts.
type RetryInfo struct {
	Key     string
	Attempt int           // the one that failed
	Delay   time.Duration // how long the pause is going to be
	Err     error         // of the attempt: a *QuorumError
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

// HeldInfo describes a hold that begins.
type HeldInfo struct {
	Lock  *Lock
	Key   string
	Token string
}

// RenewalInfo describes a renewal.
type RenewalInfo struct {
	Lock      *Lock
	Key       string
	Count     int           // renewals that succeeded so far
	Elapsed   time.Duration // from its start to its decision
	Remaining time.Duration // validity that is left now
	Err       error         // matches ErrLost if the lock is lost, else it is tried again
	Context   context.Context
}

// ExtendInfo describes a question that the holder put to the masters.
type ExtendInfo struct {
	Lock    *Lock
	Op      string // extend, verify or downgrade
	Key     string
	Elapsed time.Duration
	Err     error           // what the call returns
	Context context.Context // the caller's
}

// A HoldEnd is how a hold ended.
type HoldEnd uint8

// Ends of a hold.
const (
	EndUnlocked   HoldEnd = iota + 1
	EndLost               // before it was unlocked, or found out by Unlock
	EndHandedOver         // to another process, by HandOver
	EndClosed             // by the client's Close
	EndPlanned            // it ended by itself, as WithLease, MaxHold or MaxCount asked
)

// end is how a hold ended that was lost in that way.
func (e *LostError) end() HoldEnd {
	switch {
	case e.Planned:
		return EndPlanned
	case e.Reason == ReasonClosed:
		return EndClosed
	default:
		return EndLost
	}
}

// String is the end in one word, as metrics and spans have it.
func (e HoldEnd) String() string {
	switch e {
	case EndUnlocked:
		return "unlocked"
	case EndLost:
		return "lost"
	case EndHandedOver:
		return "handed_over"
	case EndClosed:
		return "closed"
	case EndPlanned:
		return "planned"
	default:
		return fmt.Sprintf("HoldEnd(%d)", uint8(e))
	}
}

// ReleasedInfo describes a hold that has ended.
type ReleasedInfo struct {
	Lock     *Lock
	Key      string
	Token    string
	Held     time.Duration // from the start of the attempt that acquired it until the end was noticed
	Renewals int           // that succeeded
	End      HoldEnd
	Lost     *LostError // with EndLost, EndClosed and EndPlanned
	Context  context.Context
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
		joined.Reply = both(joined.Reply, t.Reply)
		joined.Retry = both(joined.Retry, t.Retry)
		joined.Clock = both(joined.Clock, t.Clock)
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

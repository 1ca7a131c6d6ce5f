package redlock

import "time"

// A Trace is told what a client does, in the manner of net/http/httptrace. Any
// function may be nil. They are called synchronously, from the goroutine that
// does the work and with no lock held; they must be safe for concurrent use and
// must not block.
type Trace struct {
	// Attempt is called when an attempt to acquire has been decided.
	Attempt func(AttemptInfo)
	// Node is called once for each master when an attempt, extension or
	// release has been decided, in the order of the masters.
	Node func(NodeInfo)
	// Retry is called before Lock pauses.
	Retry func(RetryInfo)
	// Wait is called when a call to Lock or TryLock ends.
	Wait func(WaitInfo)
	// Renewal is called when a renewal has been decided.
	Renewal func(RenewalInfo)
	// Lost is called once when a lock is lost.
	Lost func(l *Lock, err *LostError)
	// Unlock is called when an Unlock has been decided, also by Do and Close.
	Unlock func(UnlockInfo)
	// Clock is called when a master's clock was seen to be set, or to run faster
	// or slower than WithDrift allows for. Not at GuardOff.
	Clock func(ClockInfo)
}

// AttemptInfo describes an attempt to acquire.
type AttemptInfo struct {
	Key     string
	Attempt int // counted from 1 within one call
	OK      int
	Elapsed time.Duration
	Err     error // nil: acquired; else a *QuorumError
}

// NodeInfo describes one master's part in an operation.
type NodeInfo struct {
	Op     string
	Key    string
	Master string
	Err    error // nil: agreed; also set where the decision fell before the answer came
}

// RetryInfo describes a pause between attempts.
type RetryInfo struct {
	Key     string
	Attempt int // the one that failed
	Delay   time.Duration
	Err     error
}

// WaitInfo describes the end of a call that acquires.
type WaitInfo struct {
	Key      string
	Attempts int
	Waited   time.Duration
	Err      error
}

// RenewalInfo describes a renewal.
type RenewalInfo struct {
	Key     string
	Count   int // renewals that succeeded so far
	Elapsed time.Duration
	Err     error
}

// UnlockInfo describes a release.
type UnlockInfo struct {
	Key  string
	Held time.Duration // since the lock was acquired
	Err  error
}

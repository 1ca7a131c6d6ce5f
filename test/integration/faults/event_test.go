package faults

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"github.com/redquorum/redquorum/redlock"
)

// An instant is a reading of the machine's monotonic clock, in nanoseconds: all
// processes read the same one.
type instant int64

func now() instant {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic(err) // every system has it
	}
	return instant(t.Nano())
}

func (t instant) add(d time.Duration) instant { return t + instant(d) }
func (t instant) sub(u instant) time.Duration { return time.Duration(t - u) }

// Kinds of events.
const (
	eventReady   = "ready"   // the client has been made
	eventOp      = "op"      // an operation has ended
	eventGrant   = "grant"   // a lock is held from At on
	eventUntil   = "until"   // it is valid until Until
	eventEnd     = "end"     // its holder stops relying on it at At
	eventMasters = "masters" // which masters the client can use has changed
	eventClock   = "clock"   // the library says that a master's clock is off
	eventSlow    = "slow"    // a master has not answered a ping from At to End
	eventBye     = "bye"     // the client is closed
)

// Operations.
const (
	opLock   = "lock"   // one attempt on a key that nobody else uses
	opWait   = "wait"   // Lock of a key that others use as well
	opExtend = "extend" // Extend of a lock that is held
	opUnlock = "unlock"
)

// Outcomes of an operation.
const (
	failedTaken    = "taken"
	failedNoQuorum = "no quorum"
	failedLost     = "lost"
	failedContext  = "context"
	failedOther    = "other"
)

// An event is what a client reports, as one line of JSON.
type event struct {
	Kind   string   `json:"k"`
	Worker int      `json:"w,omitempty"`
	Op     string   `json:"o,omitempty"`
	Do     string   `json:"d,omitempty"` // eventOp: what the worker does
	Hold   string   `json:"h,omitempty"` // which hold: its token
	Keys   []string `json:"s,omitempty"` // of eventGrant
	Shared bool     `json:"r,omitempty"` // eventGrant: a reader's
	At     instant  `json:"a,omitempty"` // eventOp: when it began
	End    instant  `json:"e,omitempty"` // eventOp: when it ended
	Until  instant  `json:"u,omitempty"`
	Fence  uint64   `json:"f,omitempty"`
	Failed string   `json:"x,omitempty"` // class of the error, "" for none
	Text   string   `json:"t,omitempty"` // the error's; eventBye: what is left behind
	Causes int      `json:"c,omitempty"` // masters that the error names, except those that were not awaited
	Memory uint64   `json:"b,omitempty"` // eventBye: memory that the process got from the system, in bytes
	Usable uint64   `json:"m,omitempty"` // eventMasters: a bit for each
	Whys   []string `json:"y,omitempty"` // eventMasters: of each, why it cannot be used
}

// classify fills in the outcome of an operation.
func (e *event) classify(err error) {
	if err == nil {
		return
	}
	e.Text = err.Error()
	var quorum *redlock.QuorumError
	if errors.As(err, &quorum) && quorum.Nodes != nil {
		for _, cause := range quorum.Nodes.Errors {
			if !errors.Is(cause, redlock.ErrNotAwaited) {
				e.Causes++
			}
		}
	}
	switch {
	case errors.Is(err, redlock.ErrLost):
		e.Failed = failedLost
	case errors.Is(err, redlock.ErrNoQuorum):
		e.Failed = failedNoQuorum
	case errors.Is(err, redlock.ErrTaken):
		e.Failed = failedTaken
	default:
		e.Failed = failedOther
	}
}

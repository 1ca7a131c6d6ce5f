package redlock

import (
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/guard"
)

// An AbstainCause is why a master may not vote, in one word.
type AbstainCause uint8

// The causes for which a master may not vote. Where several apply the error has
// the first of this list, but that AbstainNotStandalone comes right after
// AbstainNotConnected.
const (
	AbstainNotConnected  AbstainCause = iota + 1
	AbstainNotMaster                  // a replica
	AbstainMayEvict                   // maxmemory-policy is not noeviction
	AbstainDuplicate                  // the same server as another address, which has the vote
	AbstainUnreadable                 // strict: INFO cannot be read
	AbstainUnmarked                   // not known yet
	AbstainOffClock                   // strict: its clock is off
	AbstainNotOurs                    // the marker's name is taken by another key
	AbstainOtherFleet                 // MaxTTL, number of masters or level differ
	AbstainNoMarker                   // new, or it has lost its data
	AbstainChanged                    // its data was lost or replaced just now
	AbstainQuarantined                // it may have forgotten locks
	AbstainNotStandalone              // a member of a Redis Cluster, or a Sentinel
	AbstainMoved                      // the fleet is being moved, see WithMovedTo
)

// String is the cause in a word or two.
func (c AbstainCause) String() string { return guard.Cause(c).String() }

// Passes reports whether the cause may end by itself: because time passes, or
// because the client asks the master again. For every other cause somebody has to
// act; the text of the AbstainError says how.
func (c AbstainCause) Passes() bool { return guard.Cause(c).Passes() }

// An AbstainError says why a master may not vote, and until when, where that is
// known. It is the Err of a NodeError where the master's answer did not count, and
// stands in MasterReport. Its text is one line that also says what to do. It matches
// what its Err matches, and never a sentinel of this package or a context's error.
type AbstainError struct {
	Cause AbstainCause
	Value string // what the master says, where that is the reason: its role, its run_id, the settings in its marker
	Want  string // what it should say
	// Twins are the other addresses of the same server, sorted; with
	// AbstainDuplicate alone.
	Twins []string
	// Left is for how long it still may not vote, and Until the same for people,
	// by this machine's wall clock; with AbstainQuarantined alone.
	Left  time.Duration
	Until time.Time
	// How is what made the master forget its locks, or seem to: restarted,
	// resynced, adopted, created, reset, forced or revoked; "": its marker does not
	// tell. docs/explanation/guard.md says what each means. With AbstainQuarantined alone.
	How string
	// By is by how much the master's clock is ahead of this machine's; negative:
	// behind. Ours says that most masters disagree with this machine in the same
	// way, so that its clock is what is wrong. With AbstainOffClock alone.
	By   drift.Span
	Ours bool
	Err  error // what went wrong when the master was asked; nil: nothing did
}

// Error is one line.
func (e *AbstainError) Error() string { return e.fact().Error() }

// Unwrap gives Err.
func (e *AbstainError) Unwrap() error { return e.Err }

// fact is the error as the guard has it, whose causes are of another type.
func (e *AbstainError) fact() *guard.AbstainError {
	return &guard.AbstainError{
		Cause: guard.Cause(e.Cause), Value: e.Value, Want: e.Want, Twins: e.Twins,
		Left: e.Left, Until: e.Until, How: e.How, By: e.By, Ours: e.Ours, Err: e.Err,
	}
}

// publicAbstention is the guard's reason as users see it; nil: there is none.
func publicAbstention(f *guard.AbstainError) *AbstainError {
	if f == nil {
		return nil
	}
	return &AbstainError{
		Cause: AbstainCause(f.Cause), Value: f.Value, Want: f.Want, Twins: f.Twins,
		Left: f.Left, Until: f.Until, How: f.How, By: f.By, Ours: f.Ours, Err: f.Err,
	}
}

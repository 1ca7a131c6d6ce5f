package redlock

import (
	"fmt"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/guard"
)

// A GuardLevel says how much a master has to prove before its vote counts.
type GuardLevel uint8

// Guard levels.
const (
	// GuardOff believes every master, for tests and caches. Mutual exclusion then needs
	// masters that evict nothing and are not replaced by a replica. They must also
	// forget nothing when they restart: appendfsync always, or a restart delayed by
	// more than the longest TTL.
	GuardOff GuardLevel = iota
	// GuardStandard, the default, does not count masters that have restarted
	// lately, were emptied, may evict keys, are no masters, or are listed twice.
	// It trusts the masters' clocks to run evenly.
	GuardStandard
	// GuardStrict refuses masters whose clock is off as well, and those that do
	// not say who they are.
	GuardStrict
)

// String is the level as it stands in the masters' markers.
func (l GuardLevel) String() string { return l.internal().String() }

func (l GuardLevel) internal() guard.Level {
	switch l {
	case GuardOff:
		return guard.Off
	case GuardStandard:
		return guard.Standard
	case GuardStrict:
		return guard.Strict
	default:
		return guard.Level(l)
	}
}

// WithGuard sets the guard level; GuardStandard by default. It is a property of
// the fleet: give every client the same, or they refuse each other's masters.
func WithGuard(level GuardLevel) Option {
	return clientOption(func(o *clientOptions) error {
		if level > GuardStrict {
			return fmt.Errorf("WithGuard: %d: want GuardOff, GuardStandard or GuardStrict", level)
		}
		o.guard = level
		return nil
	})
}

// minStrictTTL is the shortest TTL at GuardStrict: with less, twice the skew that
// clocks may have would leave no validity.
const minStrictTTL = time.Second

const maxClientSkew = 24 * time.Hour

// WithClientSkew sets by how much clients' wall clocks may differ while fencing
// tokens still rise after masters have lost data: 0 to 24 h. A master that may have
// forgotten tokens does not vote for that much longer, and up to a second more. The
// default is 0: then tokens rise where clocks differ by less than WithMaxTTL less
// the time that an attempt takes. It does nothing with GuardOff. Give every client
// the same value, and the command redlock too, as --client-skew.
func WithClientSkew(d time.Duration) Option {
	return upTo(maxClientSkew, "WithClientSkew", d, func(o *clientOptions) *time.Duration { return &o.clientSkew })
}

// guardConfig is what the guard of a client of n masters goes by.
func (o *clientOptions) guardConfig(n int) (guard.Config, error) {
	cfg := guard.Config{Level: o.guard.internal(), MaxTTL: o.maxTTL, Masters: n, Drift: o.drift, ClientSkew: o.clientSkew}
	for _, name := range o.moves {
		cfg = cfg.JoinMove(name)
	}
	return cfg, cfg.Validate()
}

// An AbstainCause is why a master may not vote, in one word. Few programs look at it:
// [AbstainCause.Passes] tells whether somebody has to act, and the text of the
// [AbstainError] how. In short, without the Abstain of each name:
//
//   - It is away or not judged yet: NotConnected, Unmarked, Changed. That may pass.
//   - It may have forgotten locks: NoMarker, Quarantined. That passes with their TTL.
//   - It is no master by itself: NotMaster, Duplicate, NotStandalone.
//   - It is set up so that locks are not safe: MayEvict, Unreadable, OffClock, Forbidden.
//   - It belongs to others: NotOurs, OtherFleet, Moved.
type AbstainCause uint8

// The causes for which a master may not vote. Where several apply the error has
// the first of this list, but that AbstainNotStandalone comes right after
// AbstainNotConnected, and AbstainForbidden right after AbstainUnreadable.
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
	AbstainForbidden                  // its user may not run a command that locks need
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
	// resynced, adopted, created, emptied, restored, reset, forced or revoked; "": its
	// marker does not tell. With AbstainQuarantined; with AbstainNoMarker emptied,
	// or "".
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

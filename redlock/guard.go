package redlock

import (
	"fmt"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/guard"
)

// A GuardLevel says how much a master has to prove before its vote counts.
type GuardLevel string

// Guard levels.
const (
	// GuardOff believes every master, for tests and caches. Mutual exclusion then needs
	// masters that evict nothing and are not replaced by a replica. They must also
	// forget nothing when they restart: appendfsync always, or a restart delayed by
	// more than the longest TTL.
	GuardOff GuardLevel = "off"
	// GuardStandard, the default, does not count masters that have restarted
	// lately, were emptied, may evict keys, are no masters, or are listed twice.
	// It trusts the masters' clocks to run evenly.
	GuardStandard GuardLevel = "standard"
	// GuardStrict also refuses masters whose clock is off, and masters that do not identify
	// themselves.
	GuardStrict GuardLevel = "strict"
)

var internalLevels = map[GuardLevel]guard.Level{
	GuardOff:      guard.Off,
	GuardStandard: guard.Standard,
	GuardStrict:   guard.Strict,
}

// WithGuard sets the guard level; GuardStandard by default. It is a property of
// the fleet: give every client the same, or they refuse each other's masters.
func WithGuard(level GuardLevel) Option {
	return clientOption(func(o *clientOptions) error {
		if _, known := internalLevels[level]; !known {
			return fmt.Errorf("WithGuard: %q: want GuardOff, GuardStandard or GuardStrict", level)
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

// guardConfig returns the configuration of the guard of a client of n masters.
func (o *clientOptions) guardConfig(n int) (guard.Config, error) {
	cfg := guard.Config{
		Level:      internalLevels[o.guard],
		MaxTTL:     o.maxTTL,
		Masters:    n,
		Drift:      o.drift,
		ClientSkew: o.clientSkew,
	}
	return cfg, cfg.Validate()
}

// An AbstainError says why a master may not vote, and until when, if that is known. It is the Err
// of a NodeError if the master's answer did not count, and Why in a MasterReport. Its text is one
// line that also says what to do. It matches what its Err matches, and never a sentinel of this
// package or a context's error.
type AbstainError struct {
	// Cause is the reason in a few words, the first of these that applies:
	//   - It is away or not judged yet: "not connected", "no answer about the marker",
	//     "marker changed". That may pass.
	//   - It may have forgotten locks: "no marker", "quarantined". That passes with their TTL.
	//   - It is no master by itself: "not a master", "duplicate", "not standalone".
	//   - It is set up so that locks are not safe: "may evict", "INFO unreadable",
	//     "clock off", "command forbidden".
	//   - It belongs to others: "marker is another's", "other configuration".
	Cause string
	Value string // what the master says, where that is the reason: its role, its run_id, the settings in its marker
	Want  string // what it should say
	// Aliases, for a duplicate, are the other addresses of the same server, sorted. For another
	// configuration they are the masters whose markers say so, if this one's does not.
	Aliases []string
	// Left is for how long a master in quarantine still may not vote, and Until is when that ends,
	// by this machine's wall clock, for people. Without a marker, if not 0, they say when the
	// master gets a marker with this client's settings.
	Left  time.Duration
	Until time.Time
	// How says, in quarantine, what made the master forget its locks, or seem to: restarted,
	// resynced, evicted, adopted, emptied, restored, reset or forced; "": its marker does not say.
	// Without a marker it is emptied, or "".
	How string
	// By and Ours are for a clock that is off. By is how much the master's clock is ahead of this
	// machine's; negative: behind; zero: not known. Ours is set if most masters disagree with this
	// machine in the same way, so that its own clock is wrong.
	By   drift.Span
	Ours bool
	Err  error // what went wrong when the master was asked; nil: nothing did
}

// Error is one line.
func (e *AbstainError) Error() string { return (*guard.AbstainError)(e).Error() }

// Passes reports whether the cause may end by itself: because time passes, or
// because the client asks the master again. For every other cause somebody has to
// act; the text of the error says how.
func (e *AbstainError) Passes() bool { return (*guard.AbstainError)(e).Passes() }

// Unwrap gives Err.
func (e *AbstainError) Unwrap() error { return e.Err }

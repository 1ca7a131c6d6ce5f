package redlock

import (
	"fmt"
	"time"

	"github.com/redquorum/redquorum/internal/guard"
)

// A GuardLevel says how much a master has to prove before its vote counts.
type GuardLevel uint8

// Guard levels.
const (
	// GuardOff believes every master, for tests and caches: mutual exclusion
	// then needs masters that forget nothing when they restart (appendfsync
	// always, or a restart delayed by more than the longest TTL), evict nothing
	// and are not replaced by a replica.
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
// the same value, and redlock-demo too, as --client-skew.
func WithClientSkew(d time.Duration) Option {
	return upTo(maxClientSkew, "WithClientSkew", d, func(o *clientOptions) *time.Duration { return &o.clientSkew })
}

// guardConfig is what the guard of a client of n masters goes by.
func (o *clientOptions) guardConfig(n int) (guard.Config, error) {
	cfg := guard.Config{Level: o.guard.internal(), MaxTTL: o.maxTTL, Masters: n, Drift: o.drift, ClientSkew: o.clientSkew}
	for _, name := range o.moves {
		cfg = cfg.JoinMove(name)
	}
	if o.guard == GuardStrict && o.maxTTL < minStrictTTL {
		return cfg, fmt.Errorf("WithMaxTTL: %v: want %v to %v WithGuard(GuardStrict)", o.maxTTL, minStrictTTL, maxTTLLimit)
	}
	return cfg, cfg.Validate()
}

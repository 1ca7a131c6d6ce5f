package guard

import (
	"fmt"
	"time"

	"github.com/redquorum/redquorum/drift"
)

// A Level says how much a master has to prove.
type Level uint8

// The levels. Off judges no marker, for tests and caches; Standard trusts the
// masters' clocks to run evenly; Strict does not.
const (
	Off Level = iota
	Standard
	Strict
)

// String is the level as it stands in the marker.
func (l Level) String() string {
	switch l {
	case Off:
		return "off"
	case Standard:
		return "standard"
	case Strict:
		return "strict"
	default:
		return fmt.Sprintf("Level(%d)", uint8(l))
	}
}

// Config is what all clients of a fleet have in common, and what else the quarantine depends on.
type Config struct {
	Level   Level
	MaxTTL  time.Duration // of any lock on the fleet, also of foreign clients
	Masters int           // how many there are in the list
	Drift   drift.Policy

	// ClientSkew is how much clients' wall clocks may differ while fencing tokens still
	// rise; 0: as much as the quarantine for locks alone allows.
	ClientSkew time.Duration
}

const (
	minMaxTTL  = 20 * time.Millisecond
	minStrict  = time.Second // with less, NTP may not keep clocks within S
	maxMaxTTL  = 365 * 24 * time.Hour
	maxMasters = 1000
	maxSkew    = 500 * time.Millisecond

	// margin covers the part of a millisecond that instants lose, and a script that ran a little
	// after it read the clock.
	margin = 100 * time.Millisecond
)

// Validate returns an error that names the field, its value and the accepted range.
func (c Config) Validate() error {
	least := minMaxTTL
	switch c.Level {
	case Off, Standard:
	case Strict:
		least = minStrict
	default:
		return fmt.Errorf("guard: Config.Level is %v, want off, standard or strict", c.Level)
	}
	if c.MaxTTL < least || c.MaxTTL > maxMaxTTL || c.MaxTTL%time.Millisecond != 0 {
		return fmt.Errorf("guard: Config.MaxTTL is %v, want whole milliseconds in [%v, %v] with level %v",
			c.MaxTTL, least, maxMaxTTL, c.Level)
	}
	if c.Masters < 1 || c.Masters > maxMasters {
		return fmt.Errorf("guard: Config.Masters is %d, want a number in [1, %d]", c.Masters, maxMasters)
	}
	if c.ClientSkew < 0 || c.ClientSkew > maxMaxTTL {
		return fmt.Errorf("guard: Config.ClientSkew is %v, want a duration in [0s, %v]", c.ClientSkew, maxMaxTTL)
	}
	return c.Drift.Validate()
}

// Skew is S: how much a master's clock may differ from ours in strict, for a lock of this TTL.
// The validity is shorter by that, and by the greatest S of any lock.
func Skew(ttl time.Duration) time.Duration { return min(maxSkew, ttl/10) }

// Skew is the greatest S of any lock on the fleet, which the dial script allows.
func (c Config) Skew() time.Duration { return Skew(c.MaxTTL) }

// Quarantine is Q: how long a master that may have forgotten locks does not vote. After that time
// each of these locks has expired, by the holder's clock and by any master's. In strict both ends
// of the time are read from a clock that may be off by S, so Q is longer by that.
//
// With ClientSkew, no client's clock is below a forgotten fencing token (T2) after that time,
// whenever in its attempt the clock was read: an attempt that takes longer than its lock fails, so
// no attempt lasts longer than MaxTTL. Q depends on no timeout, so it is the same for all clients
// of the fleet.
func (c Config) Quarantine() time.Duration {
	since := c.MaxTTL + c.ClientSkew
	q := since + c.Drift.Allowance(since) + margin
	if c.Level == Strict || c.ClientSkew > 0 {
		q += 2 * c.Skew()
	}
	return q
}

// quarantineAfter is Q of a master on which locks of this TTL may have been taken.
func (c Config) quarantineAfter(longest time.Duration) time.Duration {
	c.MaxTTL = max(c.MaxTTL, longest)
	return c.Quarantine()
}

// String is what all clients of the fleet have in common, for people.
func (c Config) String() string {
	masters := "masters"
	if c.Masters == 1 {
		masters = "master"
	}
	return fmt.Sprintf("%d %s, %v, longest TTL %v", c.Masters, masters, c.Level, c.MaxTTL)
}

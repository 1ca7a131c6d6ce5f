package fencing

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/redquorum/redquorum/verification/search"
)

const (
	masters     = 3
	need        = 2 // masters that make a quorum
	maxAttempts = 2
	maxStrays   = 2
	maxLosses   = 2
	maxTicks    = 6

	skew    = 1 // ticks between the fastest and the slowest clock
	timeout = 1 // ticks that an attempt takes at the most
)

// A Config says what to explore.
type Config struct {
	Name       string
	Attempts   int  // 1 or 2
	Strays     int  // of one attempt, 0 to 2
	SetsAgain  bool // holders set the lock again
	Losses     int  // how often masters lose all they have, 0 to 2; 0: no time passes
	Quarantine int  // ticks for which a master does not vote after a loss, 0 to 6
	Ticks      int  // that pass in all, 0 to 6

	Mistake Mistake // what is done wrong; 0: nothing

	MaxStates search.Limit
}

// A Mistake is a set of rules that are left out.
type Mistake uint16

// The mistakes.
const (
	NoRaise         Mistake = 1 << iota // the highest value counts as stored by a quorum
	RaiseIfOwner                        // a master raises wherever the attempt owns the lock
	NoFloor                             // all floors are 0: each master is a plain counter
	ShortQuarantine                     // the quarantine is one tick shorter
)

var mistakeNames = []string{
	"no raise",
	"raise without the compare-and-set",
	"plain counter",
	"quarantine too short for the clocks",
}

// String names the mistakes.
func (m Mistake) String() string { return search.Names(m, mistakeNames) }

// check returns an error for a configuration that does not fit into a state.
func (c *Config) check() error {
	return cmp.Or(
		search.InRange("fencing: Attempts", c.Attempts, 1, maxAttempts),
		search.InRange("fencing: Strays", c.Strays, 0, maxStrays),
		search.InRange("fencing: Losses", c.Losses, 0, maxLosses),
		search.InRange("fencing: Quarantine", c.Quarantine, 0, maxTicks),
		search.InRange("fencing: Ticks", c.Ticks, 0, maxTicks),
	)
}

func (c *Config) has(m Mistake) bool { return c.Mistake&m != 0 }

func (c *Config) timed() bool { return c.Losses > 0 }

// quarantine is how many ticks a master does not vote after a loss.
func (c *Config) quarantine() int {
	if c.has(ShortQuarantine) {
		return c.Quarantine - 1
	}
	return c.Quarantine
}

// Summary lists the bounds of the configuration, without its name.
func (c Config) Summary() string {
	all := []string{fmt.Sprintf("N=%d, attempts %d", masters, c.Attempts)}
	if c.Strays > 0 {
		all = append(all, fmt.Sprint("strays ", c.Strays))
	}
	if c.SetsAgain {
		all = append(all, "set again")
	}
	if c.timed() {
		all = append(all, fmt.Sprintf("losses %d, quarantine %d, ticks %d", c.Losses, c.Quarantine, c.Ticks))
	}
	return strings.Join(all, ", ")
}

// Title is the name.
func (c Config) Title() string { return c.Name }

// Correct is the same configuration without a mistake.
func (c Config) Correct() search.Config {
	c.Mistake = 0
	return c
}

package moving

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/redquorum/redquorum/verification/search"
)

// Limits of what a state has room for.
const (
	maxMasters  = 3
	maxClients  = 3
	maxTTL      = 3
	maxRestarts = 3
)

// A Config says what to explore.
type Config struct {
	Name      string
	From, To  int  // masters of the old and the new fleet, 1 to 3; a quorum is more than half of them
	Clients   int  // 1 to 3
	TTL       int  // in ticks, 1 to 3; so long is a quarantine, too
	Forgotten bool // one client stays in phase one
	Restarts  int  // of masters without their data, all together, 0 to 3
	// Heard: the forgotten client hears of the closing when it begins. Otherwise it never
	// does, which is worse: then each master speaks for itself alone.
	Heard bool
	// Forgetful: masters may lose the mark until those without it are a quorum.
	Forgetful bool

	Mistake Mistake // what is done wrong; 0: nothing
	Only    Property

	MaxStates search.Limit
}

// A Mistake is a set of rules that are left out.
type Mistake uint16

// The mistakes.
const (
	NotClosed     Mistake = 1 << iota // phase three begins without a closing
	NoWait                            // phase three begins when the fleet is closed
	WaitFromFirst                     // the wait begins when the first master is closed
	TooFewClosed                      // so many masters are closed that the others are a quorum
	CountClosed                       // closed masters count for an attempt in phase one
	ExtendClosed                      // closed masters count for an extension in phase one
	HearsNothing                      // what one master says does not take the vote from the others
	OneFleet                          // in phase two a lock is taken in the new fleet alone
	OneContext                        // in phase two a hold goes on when the old fleet has lost it
	NotAll                            // the fleet is closed while clients are in phase one
	WaitsHolding                      // in phase two a client waits for one fleet while it holds the other
	AnyOrder                          // in phase two fleets are taken in any order
)

var mistakeNames = []string{
	"not closed",
	"closed without a wait",
	"the wait begins at the first master",
	"closed by too few",
	"votes of closed masters count",
	"extensions by closed masters count",
	"one closed master does not speak for all",
	"phase two takes one fleet",
	"phase two outlives a loss in one fleet",
	"closed before all are in phase two",
	"waiting while holding",
	"fleets in any order",
}

// String names the mistakes.
func (m Mistake) String() string { return search.Names(m, mistakeNames) }

// A Property is what is checked in every state.
type Property uint8

// The properties.
const (
	All       Property = iota
	Exclusion          // no two clients hold the lock at once
	Deadlock           // no two clients wait for what the other holds
)

// check reports a configuration that a state has no room for.
func (c *Config) check() error {
	return cmp.Or(
		search.InRange("moving: From", c.From, 1, maxMasters),
		search.InRange("moving: To", c.To, 1, maxMasters),
		search.InRange("moving: Clients", c.Clients, 1, maxClients),
		search.InRange("moving: TTL", c.TTL, 1, maxTTL),
		search.InRange("moving: Restarts", c.Restarts, 0, maxRestarts),
	)
}

func (c *Config) has(m Mistake) bool { return c.Mistake&m != 0 }

// masters is how many a fleet has.
func (c *Config) masters(fleet int) int { return [...]int{c.From, c.To}[fleet] }

// need is how many masters of a fleet make a quorum.
func (c *Config) need(fleet int) int { return c.masters(fleet)/2 + 1 }

// least is how many masters of the old fleet have to be marked for it to be closed.
func (c *Config) least() int {
	least := c.From - c.need(old) + 1
	if c.has(TooFewClosed) {
		return least - 1
	}
	return least
}

// Summary is what was explored, beside the name.
func (c Config) Summary() string {
	all := []string{fmt.Sprintf("N=%d→%d C=%d", c.From, c.To, c.Clients), fmt.Sprint("TTL ", c.TTL)}
	if c.Forgotten {
		all = append(all, "one is forgotten")
	}
	if c.Restarts != 0 {
		all = append(all, fmt.Sprint("restarts ", c.Restarts))
	}
	if c.Heard {
		all = append(all, "it has heard")
	}
	if c.Forgetful {
		all = append(all, "any mark may be lost")
	}
	return strings.Join(all, ", ")
}

// Title is the name.
func (c Config) Title() string { return c.Name }

// Correct is the same without a mistake.
func (c Config) Correct() search.Config {
	c.Mistake = 0
	return c
}

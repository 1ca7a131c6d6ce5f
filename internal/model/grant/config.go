package grant

import (
	"fmt"
	"strings"
)

// Limits of what a state has room for.
const (
	maxMasters  = 3
	maxClients  = 3
	maxTTL      = 5
	maxAttempts = 3
	maxCount    = 3
)

// Any as a number of attempts: without a bound.
const Any = -1

// A Config says what to explore. All times are in ticks.
type Config struct {
	Name    string
	Masters int // 1 to 3; a quorum is more than half of them
	Clients int // 1 to 3

	TTL   int // 1 to 5
	Drift int // allowance that validity is reduced by, 0 to TTL-1
	Fast  int // ticks by which a master's clock may gain on one timer, 0 to 3

	Attempts int // of each client, each with a token of its own: 1 to 3, or Any
	Restarts int // of masters without their data, all together, 0 to 3
	// Doubled: a grant may be executed again, and a message may be received again.
	Doubled bool
	// Fencing: masters count fences. Attempts must be bounded then, and no master restart.
	Fencing bool
	// Strict: masters keep lease records, and so often a clock may jump and be corrected
	// before the record is asked: the key is gone then, and the record is not. Without
	// fast clocks.
	Strict bool
	Jumps  int // 0 to 3

	Mistake Mistake // what is done wrong; 0: nothing
	Only    Property
	// MaxStates bounds the exploration; 0: DefaultMaxStates.
	MaxStates int
}

// DefaultMaxStates keeps an exploration below 3 GB.
const DefaultMaxStates = 8_000_000

// A Mistake is a set of rules that are left out.
type Mistake uint32

// The mistakes.
const (
	NoCompare          Mistake = 1 << iota // a grant sets the key, whoever has it
	PublishesAnyway                        // a grant that finds no key of the releaser tells the waiter all the same
	KeepsExpiry                            // a grant leaves the key the time that it has
	NoExpiry                               // a grant sets a key that never expires
	HoldsOn                                // the releaser holds the lock until its validity ends
	KeepsToken                             // a waiter counts its validity from a later refresh of its place
	FromReceipt                            // a waiter counts its validity from the message
	CountsStale                            // a message with the token of before counts
	CountsTwice                            // a message that comes twice counts twice
	CountsQuarantined                      // a message counts though its master may not vote
	TriesAgain                             // after a rollback the next try has the same token
	HoldsAfterGivingUp                     // who has given up counts messages that come later
	NoDrift                                // validity does not lose the drift allowance
	NoLease                                // in strict a grant writes no lease record
	SameFence                              // a grant does not raise the fence
	FenceNotStored                         // a token counts though no quorum has stored it
	NoFloor                                // each master counts by itself: the grant proposes no fence
	GrantsWithoutLock                      // who has lost the lock, or never had it, grants it
	lastMistake        = GrantsWithoutLock
)

var mistakeNames = [...]string{
	"no compare in the grant",
	"the message goes out without the key",
	"the grant keeps the old expiry",
	"the grant sets no expiry",
	"the releaser holds on",
	"a refresh keeps its token",
	"validity from the message on",
	"a stale token counts",
	"a message counts twice",
	"a quarantined master's message counts",
	"the next try has the same token",
	"counting after giving up",
	"no drift term",
	"no lease record",
	"the fence is not raised",
	"a token without a quorum",
	"no floor from the releaser",
	"granting without the lock",
}

// String names the mistakes.
func (m Mistake) String() string {
	var names []string
	for i, name := range mistakeNames {
		if m&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, " + ")
}

// A Property is what is checked in every state.
type Property uint8

// The properties.
const (
	All       Property = iota
	Exclusion          // no two clients hold the lock at once
	NotFree            // while a client holds the lock, fewer than a quorum may give it to another
	Rising             // the fencing token of each hold is above those of all earlier ones
	Expires            // no key stays for longer than the TTL
	GivenUp            // who has given up does not come to hold the lock
)

// check reports a configuration that a state has no room for.
func (c *Config) check() error {
	attempts := 1
	if c.Attempts == Any && !c.Fencing {
		attempts = Any
	}
	limits := []struct {
		name            string
		value, from, to int
	}{
		{"Masters", c.Masters, 1, maxMasters},
		{"Clients", c.Clients, 1, maxClients},
		{"TTL", c.TTL, 1, maxTTL},
		{"Drift", c.Drift, 0, c.TTL - 1},
		{"Fast", c.Fast, 0, unless(c.Strict, maxCount)},
		{"Attempts", c.Attempts, attempts, maxAttempts},
		{"Restarts", c.Restarts, 0, unless(c.Fencing, maxCount)},
		{"Jumps", c.Jumps, 0, unless(!c.Strict, maxCount)},
	}
	for _, l := range limits {
		if l.value < l.from || l.value > l.to {
			return fmt.Errorf("grant: %s is %d: want %d to %d", l.name, l.value, l.from, l.to)
		}
	}
	return nil
}

func unless(not bool, limit int) int {
	if not {
		return 0
	}
	return limit
}

func (c *Config) has(m Mistake) bool { return c.Mistake&m != 0 }

// need is how many masters make a quorum.
func (c *Config) need() int { return c.Masters/2 + 1 }

// validity is what an attempt has left some time after its token was sent.
func (c *Config) validity(elapsed uint8) int {
	left := c.TTL - int(elapsed)
	if !c.has(NoDrift) {
		left -= c.Drift
	}
	return left
}

// Summary is what was explored, beside the name.
func (c *Config) Summary() string {
	all := []string{fmt.Sprintf("N=%d C=%d", c.Masters, c.Clients), fmt.Sprint("TTL ", c.TTL)}
	add := func(name string, n int) {
		switch n {
		case 0:
		case Any:
			all = append(all, "any "+name)
		default:
			all = append(all, fmt.Sprint(name, " ", n))
		}
	}
	add("drift", c.Drift)
	add("fast", c.Fast)
	add("attempts", c.Attempts)
	add("restarts", c.Restarts)
	if c.Doubled {
		all = append(all, "doubled")
	}
	if c.Fencing {
		all = append(all, "fencing")
	}
	if c.Strict {
		all = append(all, "strict")
	}
	add("jumps", c.Jumps)
	return strings.Join(all, ", ")
}

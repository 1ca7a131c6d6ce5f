package model

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/redquorum/redquorum/verification/search"
)

// A state has room for no more than this.
const (
	maxMasters = 5
	maxClients = 3
	maxTicks   = 15
	maxCount   = 3
	maxFast    = 3
	maxSlow    = 1
)

// Any as a number of attempts, extensions, restarts or stragglers means no bound.
const Any = -1

// A Config says what to explore. All times are in ticks.
type Config struct {
	Name    string
	Masters int // 1 to 5; a quorum is more than half of them
	Clients int // 1 to 3

	TTL       int // 1 to 14 less Drift
	ExtendTTL int // TTL that extensions ask for, up to TTL; 0: TTL
	Drift     int // allowance that validity is reduced by, 0 to TTL-1
	Fast      int // ticks by which a master's clock may gain on one timer, 0 to 3
	Slow      int // ticks by which it may fall behind, 0 or 1

	// Bounds, 0 to 3 or Any.
	Attempts   int // of each client
	Extensions int // of each hold
	Restarts   int // of all masters together

	InFlight int // commands of one client on their way to one master, 2 to 6, with three clients 3; 0: as many as fit

	KeepsData  bool // a restart may also keep the data
	Loss       bool // commands may be lost
	Stragglers int  // commands that broken connections leave behind: 0 to 3 or Any

	Mutant Mutant // what is done wrong; 0: nothing
	Only   Property

	MaxStates search.Limit
}

// A Mutant is a set of mistakes in the protocol.
type Mutant uint16

// The mistakes.
const (
	QuorumHalf         Mutant = 1 << iota // N/2 masters are a quorum
	NoCompare                             // a release deletes the key of any owner
	OneToken                              // all attempts of a client use one token
	NoElapsed                             // validity is not reduced by the time that the answers took
	NoDrift                               // validity is not reduced by the drift allowance
	NoQuarantine                          // a restarted master votes at once
	CountReset                            // an extension counts masters on which it set the key again
	CountQuarantined                      // an extension counts masters that still held the key, though in quarantine
	Shortens                              // an extension may shorten what a master keeps
	TimerMoved                            // an unfinished extension postpones the end of the hold
	LateVote                              // a late answer to one attempt counts in the next
	QuarantineTooShort                    // a restarted master votes after half a TTL
	CountResetVoters                      // as CountReset, unless in quarantine
)

var mutantNames = []string{
	"quorum of N/2",
	"no compare in release",
	"one token for all attempts",
	"elapsed not subtracted",
	"no drift term",
	"restart without guard",
	"extension counts re-set masters",
	"extension counts quarantined masters",
	"extension shortens",
	"loss timer moved by an extension in flight",
	"reused tally takes a late reply",
	"quarantine of half a TTL",
	"extension counts re-set masters that may vote",
}

// String names the mistakes.
func (m Mutant) String() string { return search.Names(m, mutantNames) }

// A Property is a rule that is checked in every state.
type Property uint8

// The properties. NotFree fails earlier than Exclusion: it fails as soon as a quorum may
// give the lock to another client.
const (
	Both      Property = iota
	Exclusion          // S1: no two clients hold the lock at once
	NotFree            // S7: while a client holds the lock, fewer than a quorum may give it to another
)

// check returns an error for a configuration that does not fit into a state.
func (c *Config) check() error {
	return cmp.Or(
		search.InRange("model: Masters", c.Masters, 1, maxMasters),
		search.InRange("model: Clients", c.Clients, 1, maxClients),
		search.InRange("model: TTL", c.TTL, 1, maxTicks-c.Drift),
		search.InRange("model: ExtendTTL", c.ExtendTTL, 0, c.TTL),
		search.InRange("model: Drift", c.Drift, 0, c.TTL-1),
		search.InRange("model: Fast", c.Fast, 0, maxFast),
		search.InRange("model: Slow", c.Slow, 0, maxSlow),
		search.InRange("model: InFlight", c.InFlight, 0, newLayout(max(1, min(c.Clients, maxClients))).room),
		search.InRange("model: Attempts", c.Attempts, Any, maxCount),
		search.InRange("model: Extensions", c.Extensions, Any, maxCount),
		search.InRange("model: Restarts", c.Restarts, Any, maxCount),
		search.InRange("model: Stragglers", c.Stragglers, Any, maxCount),
	)
}

func (c *Config) has(m Mutant) bool { return c.Mutant&m != 0 }

func (c *Config) need() int {
	if c.has(QuorumHalf) {
		return c.Masters / 2
	}
	return c.Masters/2 + 1
}

// validity is what is left of ttl when elapsed ticks have passed since the first byte
// was sent. Nothing is left if it is 0 or less.
func (c *Config) validity(ttl, elapsed int) int {
	if c.has(NoElapsed) {
		elapsed = 0
	}
	return ttl - elapsed - c.allowance()
}

func (c *Config) allowance() int {
	if c.has(NoDrift) {
		return 0
	}
	return c.Drift
}

// quarantine is how many ticks of its own clock a restarted master does not vote.
func (c *Config) quarantine() int {
	switch {
	case c.has(NoQuarantine):
		return 0
	case c.has(QuarantineTooShort):
		return c.TTL / 2
	default:
		return c.TTL + c.Drift
	}
}

func (c *Config) extendTTL() int {
	if c.ExtendTTL == 0 {
		return c.TTL
	}
	return c.ExtendTTL
}

// Title is the name.
func (c Config) Title() string { return c.Name }

// Correct is the same configuration without a mistake.
func (c Config) Correct() search.Config {
	c.Mutant = 0
	return c
}

// Summary lists the sizes and the bounds of the configuration, without its name.
func (c Config) Summary() string {
	number := func(n int) string {
		if n == Any {
			return "any"
		}
		return fmt.Sprint(n)
	}
	inFlight := c.InFlight
	if inFlight == 0 {
		inFlight = newLayout(c.Clients).room
	}
	all := []string{
		fmt.Sprintf("N=%d C=%d", c.Masters, c.Clients),
		fmt.Sprintf("TTL %d drift %d/%d/%d", c.TTL, c.Drift, c.Fast, c.Slow),
		"attempts " + number(c.Attempts),
		fmt.Sprint("in flight ", inFlight),
	}
	if c.Extensions != 0 {
		all = append(all, "extensions "+number(c.Extensions))
	}
	if c.ExtendTTL != 0 {
		all = append(all, fmt.Sprint("to ", c.ExtendTTL))
	}
	if c.Restarts != 0 {
		all = append(all, "restarts "+number(c.Restarts))
	}
	if c.KeepsData {
		all = append(all, "data kept or not")
	}
	if c.Loss {
		all = append(all, "loss")
	}
	if c.Stragglers != 0 {
		all = append(all, "stragglers "+number(c.Stragglers))
	}
	return strings.Join(all, ", ")
}

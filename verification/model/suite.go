package model

import "github.com/redquorum/redquorum/verification/search"

// Suite is all configurations of this model.
func Suite() search.Suite {
	return search.Suite{
		Name: "Lock", Short: short(), Long: long(), Mistakes: mistakes(), Margins: margins(), Rules: mutantNames,
	}
}

// base is what all configurations start from. A drift allowance of one tick in three is
// large: with it a small model reaches what takes long in a large one.
func base(name string, change func(*Config)) Config {
	c := Config{
		Name: name, Masters: 3, Clients: 2,
		TTL: 3, Drift: 1, Fast: 1,
		Attempts: Any,
	}
	change(&c)
	return c
}

// noDrift makes all clocks run alike and the TTL as short as possible. This leaves room for
// more of the rest.
func noDrift(c *Config) { c.TTL, c.Drift, c.Fast = 2, 0, 0 }

// short is what every run of the tests explores: all parts of the protocol, a few at a time.
func short() []search.Config {
	return []search.Config{
		base("attempts", func(*Config) {}),
		base("extensions", func(c *Config) { c.Attempts, c.Extensions = 1, 1 }),
		base("shorter extensions", func(c *Config) { c.Attempts, c.Extensions, c.ExtendTTL = 1, 1, 2 }),
		base("a restart", func(c *Config) { c.Attempts, c.Restarts, c.KeepsData = 1, 1, true }),
		base("extensions, a restart", func(c *Config) {
			noDrift(c)
			c.Attempts, c.Extensions, c.Restarts, c.InFlight = 1, 1, 1, 3
		}),
		base("a loss of commands, a straggler", func(c *Config) { c.Attempts, c.Loss, c.Stragglers = 1, true, 1 }),
		base("slow clocks", func(c *Config) { c.Slow, c.InFlight = 1, 2 }),
		base("four masters", func(c *Config) { c.Masters, c.Attempts = 4, 1 }),
		base("five masters", func(c *Config) { c.Masters, c.TTL, c.InFlight = 5, 2, 2 }),
		base("three clients", func(c *Config) { c.Clients, c.InFlight = 3, 2 }),
	}
}

// long is explored on demand. Each configuration takes some minutes at most, and less than 2 GB.
func long() []search.Config {
	return []search.Config{
		base("extensions", func(c *Config) { c.Extensions, c.InFlight = Any, 4 }),
		base("extensions, restarts", func(c *Config) {
			noDrift(c)
			c.Extensions, c.Restarts, c.InFlight = Any, Any, 3
		}),
		base("shorter extensions, a restart", func(c *Config) {
			c.Extensions, c.ExtendTTL, c.Restarts, c.InFlight = 2, 2, 1, 3
		}),
		base("restarts", func(c *Config) { c.Restarts, c.KeepsData, c.InFlight = Any, true, 2 }),
		base("extensions, a restart", func(c *Config) { c.Extensions, c.Restarts, c.InFlight = Any, 1, 3 }),
		base("the same, and re-set masters that may vote count", func(c *Config) {
			c.Mutant, c.Extensions, c.Restarts, c.InFlight = CountResetVoters, Any, 1, 3
		}),
		base("extensions, two restarts", func(c *Config) { c.Extensions, c.Restarts, c.InFlight = Any, 2, 3 }),
		base("a restart, loss", func(c *Config) { c.Restarts, c.Loss, c.InFlight = 1, true, 2 }),
		base("extensions, a restart, loss", func(c *Config) {
			c.Attempts, c.Extensions, c.Restarts, c.Loss = 1, 2, 1, true
		}),
		base("extension, a restart, slow clocks", func(c *Config) {
			c.Attempts, c.Extensions, c.Restarts, c.Slow = 1, 1, 1, 1
		}),
		base("loss, a straggler", func(c *Config) { c.Stragglers, c.Loss, c.InFlight = 1, true, 2 }),
		base("extension, a restart, a straggler", func(c *Config) {
			c.Attempts, c.Stragglers, c.Extensions, c.Restarts = 1, 1, 1, 1
		}),
		base("TTL of 5", func(c *Config) { c.TTL, c.Extensions, c.InFlight = 5, Any, 3 }),
		base("TTL of 5, drift of 2, a restart", func(c *Config) {
			c.TTL, c.Drift, c.Fast, c.Restarts, c.InFlight = 5, 2, 2, 1, 2
		}),
		base("four masters, restarts", func(c *Config) { c.Masters, c.Attempts, c.Restarts = 4, 1, 2 }),
		base("five masters", func(c *Config) { c.Masters, c.InFlight = 5, 4 }),
		base("five masters, extension", func(c *Config) { c.Masters, c.Attempts, c.Extensions = 5, 1, 1 }),
		base("five masters, restarts", func(c *Config) { c.Masters, c.Attempts, c.Restarts = 5, 1, 2 }),
		base("three clients", func(c *Config) { c.Clients, c.InFlight = 3, 3 }),
		base("three clients, restarts", func(c *Config) { c.Clients, c.Attempts, c.Restarts = 3, 1, 2 }),
		base("three clients, extension", func(c *Config) { c.Clients, c.Attempts, c.Extensions = 3, 1, 1 }),
	}
}

// mistakes has the smallest configuration that finds each mistake. It must find it within
// MaxStates states. Two clients must really hold the lock: it is not enough that they could.
func mistakes() []search.Config {
	mutant := func(m Mutant, within search.Limit, change func(*Config)) Config {
		return base(m.String(), func(c *Config) {
			c.Mutant, c.MaxStates, c.Only, c.Attempts = m, within, Exclusion, 1
			change(c)
		})
	}
	return []search.Config{
		mutant(QuorumHalf, 1_000, func(*Config) {}),
		mutant(NoCompare, 10_000, func(c *Config) { c.Attempts, c.InFlight = Any, 2 }),
		mutant(OneToken, 100_000, func(c *Config) { c.Attempts, c.InFlight, c.Stragglers = Any, 2, 1 }),
		mutant(NoElapsed, 5_000, func(*Config) {}),
		mutant(NoDrift, 10_000, func(*Config) {}),
		mutant(NoQuarantine, 10_000, func(c *Config) { c.Restarts = 1 }),
		mutant(QuarantineTooShort, 20_000, func(c *Config) { c.Restarts = 1 }),
		mutant(CountReset, 100_000, func(c *Config) { noDrift(c); c.Extensions, c.Restarts, c.InFlight = 1, 1, 3 }),
		mutant(CountQuarantined, 150_000, func(c *Config) {
			noDrift(c)
			c.Extensions, c.Restarts, c.InFlight = 2, 1, 3
		}),
		mutant(Shortens, 10_000, func(c *Config) { c.Extensions, c.ExtendTTL = 1, 2 }),
		mutant(TimerMoved, 10_000, func(c *Config) { c.Extensions = 1 }),
		mutant(LateVote, 50_000, func(c *Config) { c.Attempts, c.InFlight = Any, 4 }),
	}
}

// margins are mistakes that all other rules together make up for: they break one of several
// reasons why the lock is safe. These configurations hold.
func margins() []search.Config {
	return []search.Config{
		base(CountResetVoters.String(), func(c *Config) {
			noDrift(c)
			c.Mutant, c.Attempts, c.Extensions, c.Restarts, c.InFlight = CountResetVoters, 1, 1, 1, 3
		}),
	}
}

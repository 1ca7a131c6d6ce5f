package moving

import "github.com/redquorum/redquorum/verification/search"

// Suite is all that is searched of this model.
func Suite() search.Suite {
	return search.Suite{
		Name: "Move", Short: short(), Long: long(), Mistakes: mistakes(), Margins: margins(), Limits: limits(), Rules: mistakeNames,
	}
}

// base is what all configurations start from: a forgotten client and one that goes
// through all phases.
func base(name string, change func(*Config)) Config {
	c := Config{Name: name, From: 3, To: 1, Clients: 2, TTL: 2, Forgotten: true}
	change(&c)
	return c
}

// short is what is explored in every run of the tests.
func short() []search.Config {
	return []search.Config{
		base("one is forgotten", func(*Config) {}),
		base("TTL of 3", func(c *Config) { c.TTL = 3 }),
		base("nobody is forgotten", func(c *Config) { c.Forgotten = false }),
		base("to three masters", func(c *Config) { c.From, c.To = 1, 3 }),
		base("three masters to three", func(c *Config) { c.To = 3 }),
		base("three clients", func(c *Config) { c.From, c.Clients = 1, 3 }),
		base("a restart", func(c *Config) { c.Restarts = 1 }),
		base("restarts, any mark may be lost", func(c *Config) { c.From, c.Restarts, c.Forgetful, c.Heard = 1, 3, true, true }),
	}
}

// long is what is explored on demand.
func long() []search.Config {
	return []search.Config{
		base("three masters to three, nobody is forgotten", func(c *Config) { c.To, c.Forgotten = 3, false }),
		base("three masters to three, TTL of 3", func(c *Config) { c.To, c.TTL = 3, 3 }),
		base("three clients", func(c *Config) { c.Clients = 3 }),
		base("three clients, to three masters", func(c *Config) { c.From, c.To, c.Clients = 1, 3, 3 }),
		base("two restarts", func(c *Config) { c.Restarts = 2 }),
		base("a restart, TTL of 3", func(c *Config) { c.Restarts, c.TTL = 1, 3 }),
		base("two restarts, any mark may be lost", func(c *Config) { c.Restarts, c.Forgetful, c.Heard = 2, true, true }),
	}
}

// mistakes is the smallest configuration that finds each mistake, MaxStates being the
// number of states within which it has to. Two clients must come to hold the lock, or to
// wait for each other.
func mistakes() []search.Config {
	mistake := func(m Mistake, within search.Limit, change func(*Config)) Config {
		return base(m.String(), func(c *Config) {
			c.Mistake, c.MaxStates, c.Only, c.From = m, within, Exclusion, 1
			change(c)
		})
	}
	three := func(c *Config) { c.From = 3 }
	return []search.Config{
		mistake(NotClosed, 5_000, func(*Config) {}),
		mistake(NoWait, 5_000, func(*Config) {}),
		mistake(WaitFromFirst, 50_000, three),
		mistake(TooFewClosed, 50_000, three),
		mistake(CountClosed, 5_000, func(*Config) {}),
		mistake(ExtendClosed, 5_000, func(*Config) {}),
		mistake(HearsNothing, 20_000, func(c *Config) { c.Restarts, c.Forgetful, c.Heard = 1, true, true }),
		mistake(OneFleet, 5_000, func(*Config) {}),
		mistake(OneContext, 5_000, func(*Config) {}),
		mistake(WaitsHolding|AnyOrder, 5_000, func(c *Config) { c.Only, c.Forgotten = Deadlock, false }),
	}
}

// margins are mistakes that the other rules make up for. They hold.
func margins() []search.Config {
	margin := func(m Mistake) Config {
		return base(m.String(), func(c *Config) { c.Mistake, c.From = m, 1 })
	}
	return []search.Config{margin(NotAll), margin(WaitsHolding), margin(AnyOrder)}
}

// limits are what is not promised: two clients come to hold the lock.
func limits() []search.Config {
	return []search.Config{
		base("a quorum of a closed fleet forgets it, and a client that has not heard of it asks there", func(c *Config) {
			c.From, c.Restarts, c.Forgetful, c.Only = 1, 1, true, Exclusion
		}),
	}
}

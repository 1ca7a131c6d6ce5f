package grant

// base is what all configurations start from.
func base(name string, change func(*Config)) Config {
	c := Config{Name: name, Masters: 3, Clients: 2, TTL: 2, Attempts: 2}
	change(&c)
	return c
}

// drifting lets masters' clocks gain as much as the allowance.
func drifting(c *Config) { c.TTL, c.Drift, c.Fast = 3, 1, 1 }

// three clients make an attempt each: one releases, one waits, and one takes the lock from
// the other two where it can.
func three(c *Config) { c.Clients, c.Attempts = 3, 1 }

// Short is what is explored in every run of the tests.
func Short() []Config {
	return []Config{
		base("two attempts", func(c *Config) { c.Masters = 2 }),
		base("three clients", three),
		base("three clients, doubled", func(c *Config) { three(c); c.Doubled = true }),
		base("clocks gain", func(c *Config) { drifting(c); c.Masters = 2 }),
		base("a restart", func(c *Config) { c.Masters, c.Restarts = 2, 1 }),
		base("strict", func(c *Config) { c.Masters, c.Strict, c.Jumps = 2, true, 1 }),
		base("fencing", func(c *Config) { c.Attempts, c.Fencing = 1, true }),
	}
}

// Long is what is explored on demand.
func Long() []Config {
	return []Config{
		base("two attempts", func(*Config) {}),
		base("three clients, clocks gain", func(c *Config) { three(c); drifting(c) }),
		base("three clients, a restart", func(c *Config) { three(c); c.Restarts = 1 }),
		base("three clients, strict", func(c *Config) { three(c); c.Strict, c.Jumps = true, 1 }),
		base("fencing, two masters", func(c *Config) { c.Masters, c.Fencing = 2, true }),
		base("any attempts", func(c *Config) { c.Attempts = Any }),
		base("clocks gain", drifting),
		base("a restart", func(c *Config) { c.Restarts = 1 }),
		base("strict", func(c *Config) { c.Strict, c.Jumps = true, 2 }),
		base("three clients, clocks gain, doubled, a restart", func(c *Config) { three(c); drifting(c); c.Restarts, c.Doubled = 1, true }),
		base("three clients, TTL of 5, drift of 2", func(c *Config) { three(c); c.TTL, c.Drift, c.Fast = 5, 2, 2 }),
		base("three clients, strict, two jumps, a restart", func(c *Config) { three(c); c.Strict, c.Jumps, c.Restarts = true, 2, 1 }),
		base("three clients, fencing", func(c *Config) { three(c); c.Fencing = true }),
		base("who has no lock grants, two attempts", func(c *Config) { c.Masters, c.Mistake = 2, GrantsWithoutLock }),
		base("who has no lock grants, three clients", func(c *Config) { three(c); c.Masters, c.Mistake = 2, GrantsWithoutLock }),
	}
}

// Mistakes is the smallest configuration that finds each mistake, MaxStates being the
// number of states within which it has to. One master is mostly enough.
func Mistakes() []Config {
	mistake := func(m Mistake, change func(*Config)) Config {
		return base(m.String(), func(c *Config) {
			c.Mistake, c.MaxStates, c.Only, c.Masters = m, 5_000, Exclusion, 1
			change(c)
		})
	}
	as := func(*Config) {}
	longer := func(c *Config) { c.TTL = 3 }
	masters := func(c *Config) { three(c); c.Masters, c.MaxStates = 3, 10_000 }
	return []Config{
		mistake(NoCompare, as),
		mistake(PublishesAnyway, as),
		mistake(KeepsExpiry, longer),
		mistake(NoExpiry, func(c *Config) { c.Only = Expires }),
		mistake(HoldsOn, as),
		mistake(KeepsToken, longer),
		mistake(FromReceipt, longer),
		mistake(CountsStale, longer),
		mistake(CountsTwice, masters),
		mistake(CountsQuarantined, func(c *Config) { longer(c); c.Restarts = 1 }),
		mistake(TriesAgain, as),
		mistake(HoldsAfterGivingUp, as),
		mistake(HoldsAfterGivingUp, func(c *Config) { c.Name, c.Only = "the same, at once", GivenUp }),
		mistake(NoDrift, drifting),
		mistake(NoLease, func(c *Config) { c.Strict, c.Jumps = true, 2 }),
		mistake(SameFence, func(c *Config) { c.Fencing, c.Only = true, Rising }),
		mistake(FenceNotStored, func(c *Config) { masters(c); c.Fencing, c.Only = true, Rising }),
	}
}

// Margins are mistakes that the other rules make up for. They hold.
func Margins() []Config {
	return []Config{
		base(GrantsWithoutLock.String(), func(c *Config) { c.Attempts, c.Mistake = 1, GrantsWithoutLock }),
		base(NoFloor.String(), func(c *Config) { c.Mistake, c.Attempts, c.Fencing = NoFloor, 1, true }),
	}
}

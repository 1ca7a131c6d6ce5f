package fencing

import "github.com/redquorum/redquorum/verification/search"

// Suite is all configurations of this model.
func Suite() search.Suite {
	return search.Suite{Name: "Fencing", Short: short(), Long: long(), Mistakes: mistakes(), Rules: mistakeNames}
}

// base is what all configurations start from: two attempts, and no stray command.
func base(name string, change func(*Config)) Config {
	c := Config{Name: name, Attempts: 2}
	change(&c)
	return c
}

// losses lets masters lose all they have. Its quarantine is the shortest that is enough for a
// skew of one tick and attempts of one tick. The run is one tick longer.
func losses(c *Config, n int) { c.Losses, c.Quarantine, c.Ticks = n, 3, 4 }

// short is what every run of the tests explores.
func short() []search.Config {
	return []search.Config{
		base("no late command", func(*Config) {}),
		base("set again", func(c *Config) { c.SetsAgain = true }),
		base("a loss", func(c *Config) { losses(c, 1) }),
	}
}

// long is explored on demand.
func long() []search.Config {
	return []search.Config{
		base("late commands", func(c *Config) { c.Strays = 1 }),
		base("late commands, set again", func(c *Config) { c.Strays, c.SetsAgain = 1, true }),
		base("two losses", func(c *Config) { losses(c, 2) }),
		base("a loss, a long quarantine", func(c *Config) { c.Losses, c.Quarantine, c.Ticks = 1, 4, 5 }),
	}
}

// mistakes has the smallest configuration that finds each mistake. It must find it within
// MaxStates states.
func mistakes() []search.Config {
	mistake := func(m Mistake, within search.Limit, change func(*Config)) Config {
		return base(m.String(), func(c *Config) {
			c.Mistake, c.MaxStates = m, within
			change(c)
		})
	}
	return []search.Config{
		mistake(NoRaise, 15_000, func(*Config) {}),
		mistake(RaiseIfOwner, 700_000, func(c *Config) { c.Strays = 1 }),
		mistake(NoFloor, 500_000, func(c *Config) { losses(c, 1) }),
		mistake(ShortQuarantine, 1_200_000, func(c *Config) { losses(c, 1) }),
	}
}

package fencing

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/redquorum/redquorum/verification/search/searchtest"
)

// Package explore tests that this model holds, and that every mistake is found.

func TestPermutationsOfMastersAndAttemptsAreOneState(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range []Config{
		base("", func(c *Config) { c.Strays, c.SetsAgain = 2, true }),
		base("", func(c *Config) { losses(c, 2) }),
	} {
		x := newMachine(&c)
		searchtest.Permutations(t, x, rng, func(s *state) state {
			other := permuted(s, x.perms[rng.IntN(len(x.perms))])
			rng.Shuffle(masters, func(i, j int) { other.masters[i], other.masters[j] = other.masters[j], other.masters[i] })
			return other
		})
	}
}

func TestSearchWithoutARaisedFenceProvesNothing(t *testing.T) {
	r, err := base("", func(c *Config) { losses(c, 1); c.Attempts, c.Ticks = 1, 0 }).Explore(0)
	if err != nil || r.Holds() || r.Missing == "" {
		t.Errorf("one attempt without anything that puts a master ahead: %v, %v", r, err)
	}
}

func TestConfigurationsOutOfRangeAreRefused(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"Attempts": func(c *Config) { c.Attempts = 3 }, "Strays": func(c *Config) { c.Strays = 3 },
		"Losses": func(c *Config) { c.Losses = -1 }, "Quarantine": func(c *Config) { c.Quarantine = 7 }, "Ticks": func(c *Config) { c.Ticks = 7 },
	} {
		if _, err := base("", change).Explore(0); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

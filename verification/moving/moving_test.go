package moving

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/redquorum/redquorum/verification/search/searchtest"
)

// What is searched of this model, and what must be found, is tested in package model_test.

func TestATraceTellsWhoDidWhat(t *testing.T) {
	c := base("", func(c *Config) { c.From, c.Mistake, c.Only = 1, NoWait, Exclusion })
	searchtest.Trace(t, c, 9,
		"A asks the old fleet", "o1 executes SET A", "A has the old fleet", "B enters phase 2", "o1 is told that the fleet is closed",
		"A:2 closed", "B enters phase 3", "B asks the new fleet", "n1 executes SET B", "B has the new fleet",
		"A in phase 1, B in phase 3", "two clients hold the lock",
	)
}

func TestPermutationsOfMastersAndClientsAreOneState(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, forgotten := range []bool{false, true} {
		c := base("", func(c *Config) { c.To, c.Clients, c.TTL, c.Restarts, c.Forgotten = 3, 3, 3, 3, forgotten })
		x := newMachine(&c)
		searchtest.Permutations(t, x, rng, func(s *state) state {
			other := *s
			x.permute(&other, s, x.perms[rng.IntN(len(x.perms))])
			for f := range other.masters {
				rng.Shuffle(x.masters(f), func(i, j int) {
					other.masters[f][i], other.masters[f][j] = other.masters[f][j], other.masters[f][i]
				})
			}
			return other
		})
	}
}

func TestAConfigurationWhereAPhaseIsNeverReachedShowsNothing(t *testing.T) {
	r, err := base("", func(c *Config) { c.From, c.Clients = 1, 1 }).Explore(0)
	if err != nil || r.Holds() || r.Missing == "" {
		t.Errorf("with the forgotten client alone: %v, %v", r, err)
	}
}

func TestConfigurationsWithoutRoomAreRefused(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"From": func(c *Config) { c.From = 4 }, "To": func(c *Config) { c.To = 0 }, "Clients": func(c *Config) { c.Clients = 4 },
		"TTL": func(c *Config) { c.TTL = 4 }, "Restarts": func(c *Config) { c.Restarts = -1 },
	} {
		if _, err := base("", change).Explore(0); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

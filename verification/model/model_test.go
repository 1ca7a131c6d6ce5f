package model

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/redquorum/redquorum/verification/search/searchtest"
)

func TestWithoutDriftAllowanceAQuorumIsFreeDuringAHold(t *testing.T) {
	c := base("", func(c *Config) { c.Attempts, c.Mutant, c.Only = 1, NoDrift, NotFree })
	r, err := c.Explore(0)
	if err != nil || r.Trace == nil || !strings.HasPrefix(r.Trace.Violated, "S7") {
		t.Errorf("got %v (%v), want a violation of S7", r, err)
	}
}

// One client alone cannot violate a property. The test checks that every action happens at all.
func TestEveryActionOfTheModelHappens(t *testing.T) {
	c := base("", func(c *Config) {
		c.Attempts, c.Extensions, c.Restarts, c.Loss, c.Stragglers, c.KeepsData = 1, 1, 1, true, 1, true
		c.TTL, c.Clients = 2, 1
	})
	seen := map[actionKind]bool{}
	reach(&c, false, func(a action) { seen[a.kind] = true })
	for k := actTick; k <= actLoseStray; k++ {
		if !seen[k] {
			t.Errorf("action %d never happens", k)
		}
	}
}

func TestTraceNamesClientsMastersAndCommands(t *testing.T) {
	c := base("", func(c *Config) { c.Attempts, c.Mutant, c.Only, c.Fast, c.Drift = 1, QuorumHalf, Exclusion, 0, 0 })
	r, err := c.Explore(0)
	if err != nil || r.Trace == nil {
		t.Fatalf("no violation: %v, %v", r, err)
	}
	var b strings.Builder
	r.Trace.Print(&b)
	for _, want := range []string{"A asks all masters (attempt 1)", "executes SET B1", "A is granted the lock", "B1:3", "A for 3, B for 3"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in the trace:\n%s", want, b.String())
		}
	}
	if n := len(r.Trace.Steps) - 1; n != r.Depth || n != 6 { // the shortest
		t.Errorf("the trace has %d steps and the exploration a depth of %d: want 6", n, r.Depth)
	}
}

func TestPermutationsOfMastersAndClientsAreOneState(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for clients := 2; clients <= maxClients; clients++ {
		c := base("", func(c *Config) {
			c.Clients, c.Slow, c.KeepsData, c.Loss = clients, 1, true, true
			c.Extensions, c.Restarts, c.Stragglers = Any, Any, Any
		})
		x := newMachine(&c)
		searchtest.Permutations(t, x, rng, func(s *state) state {
			p := x.perms[rng.IntN(len(x.perms))]
			other := state{clients: x.permuteClients(s.clients, p)}
			for to, from := range rng.Perm(x.Masters) {
				other.masters[to] = x.permuteMaster(s.masters[from], p)
			}
			return other
		})
	}
}

// The search without the reductions reaches no state that the reduced search leaves out.
func TestReducedSearchReachesAllStates(t *testing.T) {
	configs := []Config{
		base("extension", func(c *Config) { noDrift(c); c.Attempts, c.Extensions = 1, 1 }),
		base("restart", func(c *Config) { noDrift(c); c.Attempts, c.Restarts = 1, 1 }),
		base("straggler", func(c *Config) { noDrift(c); c.Attempts, c.Stragglers, c.Loss, c.Masters = 1, 1, true, 2 }),
	}
	for _, c := range configs {
		t.Run(c.Name, func(t *testing.T) {
			ignore := func(action) {}
			reduced, full := reach(&c, false, ignore), reach(&c, true, ignore)
			x := newMachine(&c)
			for s := range full {
				x.normalize(&s)
				if canonical := x.Canonical(&s); !reduced[canonical] {
					t.Fatalf("left out: %v, %v", x.Contents(&s), x.Believers(&s))
				}
			}
			t.Logf("%d states, %d without the reductions", len(reduced), len(full))
		})
	}
}

// reach returns all states of a configuration; full turns the reductions off. It calls did
// for each step.
func reach(c *Config, full bool, did func(action)) map[state]bool {
	x := newMachine(c)
	x.full = full
	all := map[state]bool{{}: true}
	queue := []state{{}}
	for len(queue) > 0 {
		s := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		x.Steps(&s, func(s state, a action) {
			did(a)
			if !full {
				s = x.Canonical(&s)
			}
			if !all[s] {
				all[s] = true
				queue = append(queue, s)
			}
		})
	}
	return all
}

func TestConfigurationsOutOfRangeAreRefused(t *testing.T) {
	tests := []struct {
		change func(*Config)
		want   string
	}{
		{func(c *Config) { c.Masters = 6 }, "model: Masters is 6: want 1 to 5"},
		{func(c *Config) { c.Clients = 0 }, "model: Clients is 0: want 1 to 3"},
		{func(c *Config) { c.TTL = 15 }, "model: TTL is 15: want 1 to 14"},
		{func(c *Config) { c.ExtendTTL = 4 }, "model: ExtendTTL is 4: want 0 to 3"},
		{func(c *Config) { c.Drift = 3 }, "model: Drift is 3: want 0 to 2"},
		{func(c *Config) { c.Fast = 4 }, "model: Fast is 4: want 0 to 3"},
		{func(c *Config) { c.Slow = 2 }, "model: Slow is 2: want 0 to 1"},
		{func(c *Config) { c.Attempts = 4 }, "model: Attempts is 4: want -1 to 3"},
		{func(c *Config) { c.Clients, c.InFlight = 3, 4 }, "model: InFlight is 4: want 0 to 3"},
	}
	for _, test := range tests {
		_, err := base("", test.change).Explore(0)
		if err == nil || err.Error() != test.want {
			t.Errorf("got %v, want %s", err, test.want)
		}
	}
}

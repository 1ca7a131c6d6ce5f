package model

import (
	"flag"
	"math/rand/v2"
	"strings"
	"testing"
)

var long = flag.Bool("long", false, "explore the long configurations as well: a quarter of an hour, below 2 GB")

func explore(t *testing.T, c Config) *Result {
	t.Helper()
	r, err := Explore(c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func mustHold(t *testing.T, configs []Config) {
	for _, c := range configs {
		t.Run(c.Name, func(t *testing.T) {
			r := explore(t, c)
			var way strings.Builder
			if r.Trace != nil {
				r.Trace.Print(&way)
			}
			if !r.Holds() {
				t.Fatalf("%s: %s after %d states\n%s", c.Summary(), r.Verdict(), r.States, way.String())
			}
			t.Logf("%d states, depth %d", r.States, r.Depth)
		})
	}
}

func TestNeverTwoHolders(t *testing.T) { mustHold(t, Short()) }

func TestNeverTwoHoldersLong(t *testing.T) {
	if !*long {
		t.Skip("takes a quarter of an hour: go test ./internal/model -long -timeout 1h, or make verify")
	}
	mustHold(t, Long())
}

func TestMistakesThatOtherRulesMakeUpForHold(t *testing.T) { mustHold(t, Margins()) }

func TestEveryMistakeLeadsToTwoHolders(t *testing.T) {
	var found Mutant
	for _, c := range Mutants() {
		t.Run(c.Name, func(t *testing.T) {
			found |= c.Mutant
			r := explore(t, c)
			if r.Trace == nil {
				t.Fatalf("no violation within %d states (%s): %s", c.MaxStates, c.Summary(), r.Verdict())
			}
			last := r.Trace.Steps[len(r.Trace.Steps)-1]
			if strings.Count(last.Believes, " for ") != 2 {
				t.Errorf("the trace ends with %q: want two holders", last.Believes)
			}
			// What is found with the mistake is not found without it.
			c.Mutant = 0
			if r := explore(t, c); r.Trace != nil {
				t.Errorf("without the mistake: %s", r.Verdict())
			}
		})
	}
	if all := Mutant(1)<<len(mutantNames) - 1; found|CountResetVoters != all && !t.Failed() {
		t.Errorf("no configuration for: %v", all&^found)
	}
}

func TestTheLockIsFoundFreeWhileItIsHeldWhereADriftTermIsMissing(t *testing.T) {
	c := base("", func(c *Config) { c.Attempts, c.Mutant, c.Only = 1, NoDrift, NotFree })
	r := explore(t, c)
	if r.Trace == nil || !strings.HasPrefix(r.Trace.Violated, "S7") {
		t.Errorf("got %s, want a violation of S7", r.Verdict())
	}
}

// With one client nobody can violate anything; what is checked is that a lock
// can be had, extended and ended at all.
func TestAHolderIsSeenToDoEverything(t *testing.T) {
	c := base("", func(c *Config) {
		c.Attempts, c.Extensions, c.Restarts, c.Loss, c.Stragglers, c.KeepsData = 1, 1, 1, true, 1, true
		c.TTL, c.Clients = 2, 1
	})
	x := newMachine(&c)
	st := newStore(c.Masters)
	st.add(&state{}, 0)
	seen := map[actionKind]bool{}
	at := 0
	x.emit = func(s state, a action) {
		seen[a.kind] = true
		canonical := x.canonical(&s)
		st.add(&canonical, at)
	}
	for ; at < st.n; at++ {
		s := st.state(at)
		x.steps(&s)
	}
	for k := actTick; k <= actLoseStray; k++ {
		if !seen[k] {
			t.Errorf("action %d never happens", k)
		}
	}
}

func TestATraceTellsWhoDidWhat(t *testing.T) {
	c := base("", func(c *Config) { c.Attempts, c.Mutant, c.Only, c.Fast, c.Drift = 1, QuorumHalf, Exclusion, 0, 0 })
	r := explore(t, c)
	if r.Trace == nil {
		t.Fatal(r.Verdict())
	}
	var b strings.Builder
	r.Trace.Print(&b)
	for _, want := range []string{
		"A asks all masters (attempt 1)", "B asks all masters (attempt 1)",
		"executes SET A1", "executes SET B1",
		"A is granted the lock", "B is granted the lock",
		"A1:3", "B1:3", "A for 3, B for 3", "S1: two clients hold the lock",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in the trace:\n%s", want, b.String())
		}
	}
	if n := len(r.Trace.Steps) - 1; n != r.Depth || n != 6 {
		t.Errorf("the trace has %d steps and the exploration a depth of %d: want 6", n, r.Depth)
	}
}

// A walk is a state that some steps at random lead to.
func walk(x *machine, rng *rand.Rand, steps int) (s state) {
	for range steps {
		var next []state
		x.emit = func(n state, _ action) { next = append(next, n) }
		x.steps(&s)
		if len(next) == 0 {
			break
		}
		s = next[rng.IntN(len(next))]
	}
	return s
}

func everything(clients int) Config {
	return base("", func(c *Config) {
		c.Clients, c.Slow, c.KeepsData, c.Loss = clients, 1, true, true
		c.Extensions, c.Restarts, c.Stragglers = Any, Any, Any
	})
}

func TestPermutationsOfMastersAndClientsAreOneState(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for clients := 2; clients <= maxClients; clients++ {
		c := everything(clients)
		x := newMachine(&c)
		for range 2000 {
			s := walk(x, rng, rng.IntN(40))
			p := x.perms[rng.IntN(len(x.perms))]
			other := state{clients: x.permuteClients(s.clients, p)}
			for to, from := range rng.Perm(x.Masters) {
				other.masters[to] = x.permuteMaster(s.masters[from], p)
			}
			if x.canonical(&s) != x.canonical(&other) {
				t.Fatalf("%d clients: a permutation by %v is another state:\n%+v\n%+v", clients, p, s, other)
			}
			canonical := x.canonical(&s)
			if x.canonical(&canonical) != canonical {
				t.Fatalf("the canonical form of a canonical state differs: %+v", s)
			}
			if x.violated(&s) != x.violated(&other) {
				t.Fatalf("a permutation is judged otherwise: %+v", s)
			}
		}
	}
}

// Without the reductions the same situations are reached.
func TestTheReductionsLeaveNothingOut(t *testing.T) {
	configs := []Config{
		base("extension", func(c *Config) { noDrift(c); c.Attempts, c.Extensions = 1, 1 }),
		base("restart", func(c *Config) { noDrift(c); c.Attempts, c.Restarts = 1, 1 }),
		base("straggler", func(c *Config) { noDrift(c); c.Attempts, c.Stragglers, c.Loss, c.Masters = 1, 1, true, 2 }),
	}
	for _, c := range configs {
		t.Run(c.Name, func(t *testing.T) {
			reduced, full := reach(&c, false), reach(&c, true)
			x := newMachine(&c)
			for s := range full {
				x.normalize(&s)
				if canonical := x.canonical(&s); !reduced[canonical] {
					t.Fatalf("left out: %v, %v", x.contents(&s, []int{1, 1}), x.believers(&s))
				}
			}
			t.Logf("%d states, %d without the reductions", len(reduced), len(full))
		})
	}
}

// reach is all states of a configuration, with the reductions or without.
func reach(c *Config, full bool) map[state]bool {
	x := newMachine(c)
	x.full = full
	all := map[state]bool{{}: true}
	queue := []state{{}}
	x.emit = func(s state, _ action) {

		if !full {
			s = x.canonical(&s)
		}
		if !all[s] {
			all[s] = true
			queue = append(queue, s)
		}
	}
	for len(queue) > 0 {
		s := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		x.steps(&s)
	}
	return all
}

func TestAStoreKnowsWhatItHas(t *testing.T) {
	const n = 3 * pageStates
	st := newStore(4)
	numbered := func(i int) state {
		return state{clients: word(i), masters: [maxMasters]word{word(i) << 7, 3, word(i % 5), 4}}
	}
	for i := range n {
		s := numbered(i)
		if !st.add(&s, i/2) {
			t.Fatalf("state %d is taken for known", i)
		}
	}
	for i := range n {
		s := numbered(i)
		if st.add(&s, 0) {
			t.Fatalf("state %d is taken for new", i)
		}
		if st.state(i) != s || st.parent(i) != i/2 {
			t.Fatalf("state %d comes back as %v with parent %d", i, st.state(i), st.parent(i))
		}
	}
}

func TestALimitProvesNothing(t *testing.T) {
	r := explore(t, base("", func(c *Config) { c.MaxStates = 100 }))
	if r.Holds() || !r.Limited || r.Trace != nil {
		t.Errorf("after %d states: %s, holds %v", r.States, r.Verdict(), r.Holds())
	}
}

func TestConfigurationsWithoutRoomAreRefused(t *testing.T) {
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
		_, err := Explore(base("", test.change))
		if err == nil || err.Error() != test.want {
			t.Errorf("got %v, want %s", err, test.want)
		}
	}
}

package grant

import (
	"flag"
	"math/rand/v2"
	"strings"
	"testing"
)

var long = flag.Bool("long", false, "explore the long configurations as well: minutes, below 3 GB")

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
			// It holds, and not for want of anybody who gets the lock.
			if want := (Reached{BySet: true, ByGrant: true, ByBoth: true}); r.Reached != want {
				t.Errorf("the lock was got in these ways: %+v, want %+v", r.Reached, want)
			}
			t.Logf("%d states, depth %d", r.States, r.Depth)
		})
	}
}

func TestAGrantNeverMakesTwoHolders(t *testing.T) { mustHold(t, Short()) }

func TestAGrantNeverMakesTwoHoldersLong(t *testing.T) {
	if !*long {
		t.Skip("takes minutes: go test ./internal/model/grant -long -timeout 1h, or make verify")
	}
	mustHold(t, Long())
}

func TestMistakesThatOtherRulesMakeUpForHold(t *testing.T) { mustHold(t, Margins()) }

func TestEveryMistakeIsFound(t *testing.T) {
	var found Mistake
	for _, c := range Mistakes() {
		t.Run(c.Name, func(t *testing.T) {
			found |= c.Mistake
			r := explore(t, c)
			if r.Trace == nil {
				t.Fatalf("no violation within %d states (%s): %s", c.MaxStates, c.Summary(), r.Verdict())
			}
			last := r.Trace.Steps[len(r.Trace.Steps)-1]
			if holders := strings.Count(last.Believes, " for "); c.Only == Exclusion && holders != 2 {
				t.Errorf("the trace ends with %q: want two holders", last.Believes)
			}
			t.Logf("%d states, depth %d", r.States, r.Depth)
			// What is found with the mistake is not found without it, among as many states.
			c.Mistake = 0
			if r := explore(t, c); r.Trace != nil {
				t.Errorf("without the mistake: %s", r.Verdict())
			}
		})
	}
	for _, c := range Margins() {
		found |= c.Mistake
	}
	if all := lastMistake<<1 - 1; found != all && !t.Failed() {
		t.Errorf("no configuration for: %v", all&^found)
	}
}

func TestATraceTellsWhoDidWhat(t *testing.T) {
	c := base("", func(c *Config) { c.Mistake, c.Only = HoldsOn, Exclusion })
	r := explore(t, c)
	if r.Trace == nil {
		t.Fatal(r.Verdict())
	}
	var b strings.Builder
	r.Trace.Print(&b)
	for _, want := range []string{
		"A waits, and asks all masters", "executes SET A", "A has the lock", "B waits, and asks all masters",
		"A releases to B", "executes A's grant to B", "B hears of a grant to B on", "B has the lock",
		"A:2", "B:2", "A for 2, B for 2", "two clients hold the lock",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in the trace:\n%s", want, b.String())
		}
	}
	if n := len(r.Trace.Steps) - 1; n != r.Depth {
		t.Errorf("the trace has %d steps and the exploration a depth of %d", n, r.Depth)
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

func TestPermutationsOfMastersAndClientsAreOneState(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for clients := 2; clients <= maxClients; clients++ {
		for _, fencing := range []bool{false, true} {
			c := base("", func(c *Config) {
				c.Clients, c.TTL, c.Attempts, c.Restarts, c.Strict, c.Jumps = clients, 3, Any, 3, true, 3
			})
			if fencing {
				c = base("", func(c *Config) { c.Clients, c.TTL, c.Attempts, c.Fencing = clients, 3, 3, true })
			}
			x := newMachine(&c)
			for range 1000 {
				s := walk(x, rng, rng.IntN(50))
				p := x.perms[rng.IntN(len(x.perms))]
				other := x.permute(&s, p)
				rng.Shuffle(x.Masters, func(i, j int) {
					other.masters[i], other.masters[j] = other.masters[j], other.masters[i]
				})
				if x.canonical(&s) != x.canonical(&other) {
					t.Fatalf("a permutation by %v is another state:\n%+v\n%+v", p, s, other)
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
}

// Without the reductions the same situations are reached.
func TestTheReductionsLeaveNothingOut(t *testing.T) {
	for _, c := range []Config{
		base("two attempts", func(c *Config) { c.Attempts, c.Masters = 2, 1 }),
		base("two masters", func(c *Config) { c.Attempts, c.Masters = 1, 2 }),
		base("a restart", func(c *Config) { c.Attempts, c.Masters, c.Restarts, c.Doubled = 2, 1, 1, true }),
		base("strict", func(c *Config) { c.Attempts, c.Masters, c.Strict, c.Jumps = 2, 1, true, 1 }),
		base("fencing", func(c *Config) { c.Attempts, c.Masters, c.Fencing = 2, 1, true }),
	} {
		t.Run(c.Name, func(t *testing.T) {
			reduced, full := reach(&c, false), reach(&c, true)
			x := newMachine(&c)
			for s := range full {
				x.normalize(&s)
				if canonical := x.canonical(&s); !reduced[canonical] {
					t.Fatalf("left out: %+v", canonical)
				}
			}
			if len(full) <= len(reduced) {
				t.Errorf("%d states, and %d without the reductions: nothing is compared", len(reduced), len(full))
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
		s = x.canonical(&s)
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

func TestALimitProvesNothing(t *testing.T) {
	r := explore(t, base("", func(c *Config) { c.MaxStates = 100 }))
	if r.Holds() || !r.Limited || r.Verdict() != "not all states visited" {
		t.Errorf("%d states: %s", r.States, r.Verdict())
	}
}

func TestConfigurationsWithoutRoomAreRefused(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"Masters":  func(c *Config) { c.Masters = 4 },
		"Clients":  func(c *Config) { c.Clients = 0 },
		"TTL":      func(c *Config) { c.TTL = 6 },
		"Drift":    func(c *Config) { c.Drift = 2 },
		"Fast":     func(c *Config) { c.Strict, c.Fast = true, 1 },
		"Attempts": func(c *Config) { c.Attempts, c.Fencing = Any, true },
		"Restarts": func(c *Config) { c.Attempts, c.Fencing, c.Restarts = 1, true, 1 },
		"Jumps":    func(c *Config) { c.Jumps = 1 },
	} {
		if _, err := Explore(base("", change)); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

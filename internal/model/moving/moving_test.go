package moving

import (
	"flag"
	"math/rand/v2"
	"strings"
	"testing"
)

var long = flag.Bool("long", false, "explore the long configurations as well: minutes, below 2 GB")

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
				r.Trace.Print(&way, &c)
			}
			if !r.Holds() {
				t.Fatalf("%s: %s after %d states\n%s", c.Summary(), r.Verdict(), r.States, way.String())
			}
			// It holds, and not for want of anybody who gets the lock.
			if want := (Reached{Phases: [3]bool{true, true, true}, AfterClosing: true}); r.Reached != want {
				t.Errorf("the lock was held in %+v: want %+v", r.Reached, want)
			}
			t.Logf("%d states, depth %d", r.States, r.Depth)
		})
	}
}

func TestNeverTwoHoldersInAnyPhase(t *testing.T) { mustHold(t, Short()) }

func TestNeverTwoHoldersInAnyPhaseLong(t *testing.T) {
	if !*long {
		t.Skip("takes minutes: go test ./internal/model/moving -long -timeout 1h, or make verify")
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
			if holders := strings.Count(last.Believes, " in phase "); c.Only == Exclusion && holders != 2 {
				t.Errorf("the trace ends with %q: want two holders", last.Believes)
			}
			// What is found with the mistake is not found without it.
			c.Mistake = 0
			if r := explore(t, c); r.Trace != nil {
				t.Errorf("without the mistake: %s", r.Verdict())
			}
		})
	}
	for _, c := range Margins() {
		found |= c.Mistake
	}
	if all := LastMistake<<1 - 1; found != all && !t.Failed() {
		t.Errorf("no configuration for: %v", all&^found)
	}
}

// What is not promised is not promised for a reason.
func TestWhatIsNotPromisedDoesNotHold(t *testing.T) {
	for _, c := range Limits() {
		if r := explore(t, c); r.Trace == nil {
			t.Errorf("%s (%s): %s", c.Name, c.Summary(), r.Verdict())
		}
	}
}

func TestATraceTellsWhoDidWhat(t *testing.T) {
	c := base("", func(c *Config) { c.From, c.Mistake, c.Only = 1, NoWait, Exclusion })
	r := explore(t, c)
	if r.Trace == nil {
		t.Fatal(r.Verdict())
	}
	var b strings.Builder
	r.Trace.Print(&b, &c)
	for _, want := range []string{
		"A asks the old fleet", "o1 executes SET A", "A has the old fleet", "B enters phase 2", "o1 is told that the fleet is closed",
		"A:2 closed", "B enters phase 3", "B asks the new fleet", "n1 executes SET B", "B has the new fleet",
		"A in phase 1, B in phase 3", "two clients hold the lock",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in the trace:\n%s", want, b.String())
		}
	}
	if n := len(r.Trace.Steps) - 1; n != r.Depth || n != 9 {
		t.Errorf("the trace has %d steps and the exploration a depth of %d: want 9", n, r.Depth)
	}
}

// A walk is a state that some steps at random lead to.
func walk(x *machine, rng *rand.Rand, steps int) (s state) {
	for range steps {
		var next []state
		x.emit = func(n state, _ action) { next = append(next, n) }
		x.steps(&s)
		s = next[rng.IntN(len(next))]
	}
	return s
}

func TestPermutationsOfMastersAndClientsAreOneState(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, forgotten := range []bool{false, true} {
		c := base("", func(c *Config) { c.To, c.Clients, c.TTL, c.Restarts, c.Forgotten = 3, 3, 3, 3, forgotten })
		x := newMachine(&c)
		for range 2000 {
			s := walk(x, rng, rng.IntN(40))
			var other state
			p := x.perms[rng.IntN(len(x.perms))]
			other = s
			x.permute(&other, &s, p)
			for f := range other.masters {
				rng.Shuffle(x.masters(f), func(i, j int) {
					other.masters[f][i], other.masters[f][j] = other.masters[f][j], other.masters[f][i]
				})
			}
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

func TestALimitProvesNothing(t *testing.T) {
	r := explore(t, base("", func(c *Config) { c.MaxStates = 100 }))
	if r.Holds() || !r.Limited || r.Verdict() != "not all states visited" {
		t.Errorf("%d states: %s", r.States, r.Verdict())
	}
}

func TestConfigurationsWithoutRoomAreRefused(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"From": func(c *Config) { c.From = 4 }, "To": func(c *Config) { c.To = 0 }, "Clients": func(c *Config) { c.Clients = 4 },
		"TTL": func(c *Config) { c.TTL = 4 }, "Restarts": func(c *Config) { c.Restarts = -1 },
	} {
		if _, err := Explore(base("", change)); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

package guard

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/redquorum/redquorum/drift"
)

// empty makes the master one that has answered MISSING twice, before and after at(0).
func (f *Facts) empty() {
	f.Answer(missingAt(-time.Second))
	f.Answer(missingAt(time.Second))
}

// missingAt is the answer that was received then, 10 ms after it was asked for.
func missingAt(d time.Duration) Marker {
	return Marker{Verdict: Missing, Clock: drift.Reading{Sent: at(d - 10*time.Millisecond), Received: at(d), Time: at(d).Wall()}}
}

// settledAt is when it has been known for a second that a master is empty, and
// awayAt when that has been known for the quarantine.
var settledAt, awayAt = at(2 * time.Second), at(time.Second + config(Standard).Quarantine())

// instants are some from the last look on.
var instants = []drift.Instant{at(time.Second), at(2*time.Second - 1), settledAt, awayAt, at(time.Hour)}

var errTest = errors.New("NOPERM")

func TestPlan(t *testing.T) {
	all := []int{0, 1, 2, 3, 4}
	rest := []int{1, 2, 3, 4}
	for name, test := range map[string]struct {
		level  Level
		change func(facts []Facts) // of a fleet where all are empty
		early  Step                // just before the lack has been known for a second
		final  Step
		on     []int // at the end
	}{
		"all are empty": {Standard, func([]Facts) {}, ToDeclare, ToDeclare, all},
		"strict":        {Strict, func([]Facts) {}, Wait, ToAdopt, all},
		"off":           {Off, func([]Facts) {}, Nothing, Nothing, nil},
		"none is empty": {Standard, func(f []Facts) { copy(f, fleet(config(Standard))) }, Nothing, Nothing, nil},
		"one was restarted with its data": {Standard, func(f []Facts) {
			f[0] = healthy(config(Standard), 1, 0)
			f[0].Marker.Verdict, f[0].Marker.How = Restarted, HowRestarted
		}, Wait, ToAdopt, rest},
		"another client is declaring":      {Standard, func(f []Facts) { f[0].Marker = Marker{Verdict: Present} }, Wait, ToAdopt, rest},
		"one is not connected":             {Standard, func(f []Facts) { f[0].Connected = false }, Wait, ToAdopt, rest},
		"one has not answered":             {Standard, func(f []Facts) { f[0].Marker = Marker{} }, Wait, ToAdopt, rest},
		"one cannot answer":                {Standard, func(f []Facts) { f[0].MarkerErr = errors.New("NOPERM") }, Wait, ToAdopt, rest},
		"one is a replica":                 {Standard, func(f []Facts) { f[0].Info.Role = "slave" }, Wait, ToAdopt, rest},
		"one may evict":                    {Standard, func(f []Facts) { f[0].Info.Policy = "allkeys-lru" }, Wait, ToAdopt, rest},
		"one does not say its policy":      {Standard, func(f []Facts) { f[0].Info.Policy = "" }, Wait, ToAdopt, all},
		"one does not say its run_id":      {Standard, func(f []Facts) { f[0].Info.RunID = "" }, Wait, ToAdopt, rest},
		"two are one server":               {Standard, func(f []Facts) { f[1].Info.RunID = f[0].Info.RunID }, Wait, ToAdopt, []int{0, 2, 3, 4}},
		"one is something else":            {Standard, func(f []Facts) { f[0].Marker.Verdict = WrongType }, Wait, ToAdopt, rest},
		"one is of another fleet":          {Standard, func(f []Facts) { f[0].Word = Conflict }, Nothing, Nothing, nil},
		"nobody is connected":              {Standard, func(f []Facts) { disconnect(f) }, Nothing, Nothing, nil},
		"nobody but one that has a marker": {Standard, func(f []Facts) { disconnect(f); f[0] = healthy(config(Standard), 1, 0) }, Nothing, Nothing, nil},
	} {
		t.Run(name, func(t *testing.T) {
			c := config(test.level)
			facts := fleet(c)
			for i := range facts {
				facts[i].empty()
			}
			test.change(facts)
			wanted := func(now drift.Instant, step Step, on []int) {
				t.Helper()
				if step != ToDeclare && step != ToAdopt {
					on = nil
				}
				p := c.Plan(facts, now)
				if p.Step != step || !slices.Equal(p.Masters, on) {
					t.Errorf("the plan is %+v, want %d on %v", p, step, on)
				}
			}
			wanted(at(2*time.Second-1), test.early, test.on)
			wanted(settledAt, test.final, test.on)
			wanted(awayAt, test.final, test.on)
			// While one may still answer, nobody is adopted before the others would vote.
			facts[4].Pending = true
			wanted(settledAt, test.early, test.on)
			wanted(at(c.Quarantine()), test.early, test.on)
			wanted(at(time.Second+c.Quarantine()), test.final, test.on)
		})
	}
}

// The script adopts no master that was seen empty for less than a second. A client that asked it
// sooner would ask again and again.
func TestAdoptionWaitsASecondEvenIfTheQuarantineIsShorter(t *testing.T) {
	c := config(Standard)
	c.MaxTTL = 100 * time.Millisecond
	facts := fleet(c)
	for i := range facts[1:] {
		facts[1+i].empty()
	}
	if c.Quarantine() >= settleFor {
		t.Fatalf("the quarantine is %v", c.Quarantine())
	}
	for now, want := range map[drift.Instant]Step{at(2*time.Second - 1): Wait, settledAt: ToAdopt} {
		if p := c.Plan(facts, now); p.Step != want {
			t.Errorf("at %v the plan is %+v, want %d", now, p, want)
		}
	}
}

func disconnect(facts []Facts) {
	for i := range facts {
		facts[i] = Facts{Master: facts[i].Master}
	}
}

func TestOneLookDoesNotDeclare(t *testing.T) {
	c := config(Standard)
	const present = -1                                     // another answer than MISSING
	for name, looks := range map[string][][]time.Duration{ // of each master, when its answers were received
		"one each":              {{0}, {0}, {0}, {0}, {0}},
		"one has answered once": {{0, 1e9}, {0, 1e9}, {0, 1e9}, {0, 1e9}, {1e9}},
		"one came late":         {{0, 1e9, 2e9}, {0, 1e9, 2e9}, {0, 1e9, 2e9}, {0, 1e9, 2e9}, {1991e6, 3e9}},
		"asked too early":       {{0, 1e9}, {0, 1e9}, {0, 1e9}, {0, 1e9}, {0, 9e6}},
		"no look at all":        {{}, {0, 1e9}, {0, 1e9}, {0, 1e9}, {0, 1e9}},
		"one has said else":     {{0, 1e9}, {0, 1e9}, {0, 1e9, present, 2e9}, {0, 1e9}, {0, 1e9}},
	} {
		facts := fleet(c)
		for i := range facts {
			facts[i].Marker = missingAt(9e9) // not by Answer, which alone counts
			for _, d := range looks[i] {
				if d == present {
					facts[i].Answer(Marker{Verdict: Present})
				} else {
					facts[i].Answer(missingAt(d))
				}
			}
		}
		for _, now := range append([]drift.Instant{at(9e9)}, instants...) {
			if p := c.Plan(facts, now); p.Step != Again || p.Masters != nil {
				t.Errorf("%s, at %v: %+v, want another look", name, now, p)
			}
		}
		for i := range facts {
			facts[i].Answer(missingAt(5e9))
			facts[i].Answer(missingAt(6e9))
		}
		if p := c.Plan(facts, at(6e9)); p.Step != ToDeclare {
			t.Errorf("%s, and two more looks: %+v", name, p)
		}
	}
}

// later is what is known on the next connection to the same process.
func later(f Facts) Facts {
	next := f.Memory()
	next.Connected, next.Info = true, f.Info
	return next
}

// This client has seen the fleet, or another has seen it and has noted that.
func TestAFleetThatIsKnownIsNotDeclared(t *testing.T) {
	c := config(Standard)
	other := healthy(c, 3, 0).Marker
	other.Verdict = Conflict
	for name, test := range map[string]struct {
		sees     func(f *Facts)
		stranger bool // this client waits for those that have seen a marker of their settings there
	}{
		"a marker, seen on one of them before":          {func(f *Facts) { f.Answer(healthy(c, 3, 0).Marker); f.empty() }, false},
		"another fleet's, seen on one of them before":   {func(f *Facts) { f.Answer(other); f.empty() }, true},
		"another fleet's, and then one of ours":         {func(f *Facts) { f.Answer(other); f.Answer(healthy(c, 3, 0).Marker); f.empty() }, false},
		"on an earlier connection":                      {func(f *Facts) { f.Answer(healthy(c, 3, 0).Marker); *f = later(*f); f.empty() }, false},
		"another fleet's, on an earlier connection":     {func(f *Facts) { f.Answer(other); *f = later(*f); f.empty() }, true},
		"by another client, as one of the masters says": {func(f *Facts) { f.Marker.Known = true }, true},
	} {
		for i := range c.Masters {
			facts := fleet(c)
			for j := range facts {
				facts[j].empty()
			}
			test.sees(&facts[i])
			if p := c.Plan(facts, at(2*time.Second-1)); p.Step != Wait {
				t.Errorf("%s: %+v, want another look", name, p)
			}
			if p := c.Plan(facts, settledAt); p.Step != ToAdopt || slices.Contains(p.Masters, i) == test.stranger || len(p.Masters) < c.Masters-1 {
				t.Errorf("%s, a second later: %+v; is master %d to be left: %v", name, p, i, test.stranger)
			}
			if p := c.Plan(facts, awayAt); p.Step != ToAdopt || len(p.Masters) != c.Masters {
				t.Errorf("%s, when its quarantine would be over: %+v, want all adopted", name, p)
			}
		}
	}
}

// SAFETY calls this a mixed fleet taken for new: some masters restarted empty, and the rest, which
// remember, are the reason not to declare it. A list that is shorter or longer than the fleet
// declares nothing either.
func TestAFleetIsDeclaredOnlyWhenAllNAreEmpty(t *testing.T) {
	for seed := range uint64(2000) {
		rng := rand.New(rand.NewPCG(seed, 3))
		c := config(Standard)
		facts := fleet(c)
		allEmpty := true
		for i := range facts {
			switch rng.IntN(6) {
			case 0:
				allEmpty = false
			case 1:
				facts[i], allEmpty = anyFacts(rng, c, i+1), false
				if facts[i].Marker.Verdict == Missing {
					facts[i].Marker.Verdict = Same
				}
			default:
				facts[i].empty()
			}
		}
		if listed := []int{4, 5, 5, 5, 6}[rng.IntN(5)]; listed != c.Masters {
			c.Masters, allEmpty = listed, false
		}
		p := c.Plan(facts, instants[rng.IntN(len(instants))])
		if (p.Step == ToDeclare) != allEmpty {
			t.Fatalf("seed %d: %+v, all empty: %v", seed, p, allEmpty)
		}
		for _, i := range p.Masters {
			if write := p.Step == ToDeclare || p.Step == ToAdopt; write != (facts[i].Marker.Verdict == Missing) {
				t.Fatalf("seed %d: step %d on a master that answered %v", seed, p.Step, facts[i].Marker.Verdict)
			}
		}
	}
}

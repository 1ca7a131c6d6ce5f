package guard

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// empty makes the master one that answers MISSING.
func (f *Facts) empty() { f.Marker = Marker{Verdict: Missing, Clock: f.Marker.Clock} }

func TestPlan(t *testing.T) {
	all := []int{0, 1, 2, 3, 4}
	rest := []int{1, 2, 3, 4}
	for name, test := range map[string]struct {
		level  Level
		change func(facts []Facts) // of a fleet where all are empty
		early  Step                // before the pass is over
		final  Step
		on     []int // at the end
	}{
		"all are empty": {Standard, func([]Facts) {}, ToDeclare, ToDeclare, all},
		"strict":        {Strict, func([]Facts) {}, Nothing, Nothing, nil},
		"off":           {Off, func([]Facts) {}, Nothing, Nothing, nil},
		"none is empty": {Standard, func(f []Facts) { copy(f, fleet(config(Standard))) }, Nothing, Nothing, nil},
		"one has a marker": {Standard, func(f []Facts) { f[0] = healthy(config(Standard), 1, 0) },
			ToAdopt, ToAdopt, rest},
		"one was restarted with its data": {Standard, func(f []Facts) {
			f[0] = healthy(config(Standard), 1, 0)
			f[0].Marker.Verdict = Restarted
		}, ToAdopt, ToAdopt, rest},
		"another client is declaring":      {Standard, func(f []Facts) { f[0].Marker = Marker{Verdict: Present} }, ToAdopt, ToAdopt, rest},
		"one is not connected":             {Standard, func(f []Facts) { f[0].Connected = false }, Wait, ToAdopt, rest},
		"one has not answered":             {Standard, func(f []Facts) { f[0].Marker = Marker{} }, Wait, ToAdopt, rest},
		"one cannot answer":                {Standard, func(f []Facts) { f[0].MarkerErr = errors.New("NOPERM") }, ToAdopt, ToAdopt, rest},
		"one is a replica":                 {Standard, func(f []Facts) { f[0].Info.Role = "slave" }, ToAdopt, ToAdopt, rest},
		"one may evict":                    {Standard, func(f []Facts) { f[0].Info.Policy = "allkeys-lru" }, ToAdopt, ToAdopt, rest},
		"one does not say its policy":      {Standard, func(f []Facts) { f[0].Info.Policy = "" }, ToAdopt, ToAdopt, all},
		"one does not say its run_id":      {Standard, func(f []Facts) { f[0].Info.RunID, f[0].Marker = "", Marker{} }, ToAdopt, ToAdopt, rest},
		"two are one server":               {Standard, func(f []Facts) { f[1].Info.RunID = f[0].Info.RunID }, ToAdopt, ToAdopt, []int{0, 2, 3, 4}},
		"one is something else":            {Standard, func(f []Facts) { f[0].Marker.Verdict = WrongType }, ToAdopt, ToAdopt, rest},
		"one is of another fleet":          {Standard, func(f []Facts) { f[0].Marker.Verdict = Conflict }, Nothing, Nothing, nil},
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
			if step, _ := c.Plan(facts, false); step != test.early {
				t.Errorf("before the pass is over: step %d, want %d", step, test.early)
			}
			step, on := c.Plan(facts, true)
			if step != test.final || !slices.Equal(on, test.on) {
				t.Errorf("step %d on %v, want %d on %v", step, on, test.final, test.on)
			}
		})
	}
}

func disconnect(facts []Facts) {
	for i := range facts {
		facts[i] = Facts{Master: facts[i].Master}
	}
}

// A list that is shorter or longer than the fleet is none that may declare it.
func TestAnotherNumberOfMastersNeverDeclares(t *testing.T) {
	c := config(Standard)
	facts := fleet(c)
	for i := range facts {
		facts[i].empty()
	}
	c.Masters = 6
	if step, _ := c.Plan(facts, true); step == ToDeclare {
		t.Error("five of six declare the fleet")
	}
	c.Masters = 4
	if step, _ := c.Plan(facts, true); step == ToDeclare {
		t.Error("five of four declare the fleet")
	}
}

// What SAFETY calls a mixed fleet taken for new: some restarted empty, and the
// rest, which remember, are the reason not to declare it.
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
		step, on := c.Plan(facts, rng.IntN(2) == 0)
		if (step == ToDeclare) != allEmpty {
			t.Fatalf("seed %d: step %d, all empty: %v", seed, step, allEmpty)
		}
		for _, i := range on {
			if facts[i].Marker.Verdict != Missing {
				t.Fatalf("seed %d: step %d on a master that answered %v", seed, step, facts[i].Marker.Verdict)
			}
		}
	}
}

func TestAnAdoptedMasterWaitsAndADeclaredOneVotes(t *testing.T) {
	onEach(t, func(t *testing.T, m *master) {
		c := config(Standard)
		c.Masters = 1
		f := Facts{Master: "m", Connected: true, Info: Info{RunID: m.run, Role: "master", Policy: "noeviction"}, Marker: m.dial(c)}
		judge := func() Standing { return c.Standings([]Facts{f}, f.Marker.Clock.Received)[0] }
		if s := judge(); s.Vote || s.Why.Cause != NoMarker {
			t.Errorf("before: %v", s)
		}
		if step, _ := c.Plan([]Facts{f}, false); step != ToDeclare {
			t.Errorf("step %d", step)
		}
		f.Marker = m.script(Declare, c.DeclareArgs(m.run))
		if s := judge(); !s.Vote {
			t.Errorf("declared: %v", s)
		}
		m.do("FLUSHALL")
		f.Marker = m.script(Adopt, c.AdoptArgs(m.run))
		if s := judge(); s.Vote || s.Why.Cause != Quarantined || s.Why.Left > c.Quarantine() || s.Why.Left < c.Quarantine()-time.Minute {
			t.Errorf("adopted: %v", s)
		}
		f.Marker = m.dial(c)
		if s := judge(); s.Vote || s.Why.Cause != Quarantined {
			t.Errorf("dialled again: %v", s)
		}
	})
}

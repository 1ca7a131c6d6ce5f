package guard

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/simmaster"
)

// empty makes the master one that has answered MISSING twice, before and after
// at(0).
func (f *Facts) empty() {
	f.Answer(missingAt(-time.Second))
	f.Answer(missingAt(time.Second))
}

// missingAt is the answer that was received then, 10 ms after it was asked for.
func missingAt(d time.Duration) Marker {
	return Marker{Verdict: Missing, Clock: drift.Reading{Sent: at(d - 10*time.Millisecond), Received: at(d), Time: at(d).Wall()}}
}

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
			Again, ToAdopt, rest},
		"one was restarted with its data": {Standard, func(f []Facts) {
			f[0] = healthy(config(Standard), 1, 0)
			f[0].Marker.Verdict = Restarted
		}, Again, ToAdopt, rest},
		"another client is declaring":      {Standard, func(f []Facts) { f[0].Marker = Marker{Verdict: Present} }, Again, ToAdopt, rest},
		"one is not connected":             {Standard, func(f []Facts) { f[0].Connected = false }, Again, ToAdopt, rest},
		"one has not answered":             {Standard, func(f []Facts) { f[0].Marker = Marker{} }, Again, ToAdopt, rest},
		"one cannot answer":                {Standard, func(f []Facts) { f[0].MarkerErr = errors.New("NOPERM") }, Again, ToAdopt, rest},
		"one is a replica":                 {Standard, func(f []Facts) { f[0].Info.Role = "slave" }, Again, ToAdopt, rest},
		"one may evict":                    {Standard, func(f []Facts) { f[0].Info.Policy = "allkeys-lru" }, Again, ToAdopt, rest},
		"one does not say its policy":      {Standard, func(f []Facts) { f[0].Info.Policy = "" }, Again, ToAdopt, all},
		"one does not say its run_id":      {Standard, func(f []Facts) { f[0].Info.RunID, f[0].Marker = "", Marker{} }, Again, ToAdopt, rest},
		"two are one server":               {Standard, func(f []Facts) { f[1].Info.RunID = f[0].Info.RunID }, Again, ToAdopt, []int{0, 2, 3, 4}},
		"one is something else":            {Standard, func(f []Facts) { f[0].Marker.Verdict = WrongType }, Again, ToAdopt, rest},
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

func TestOneLookDoesNotDeclare(t *testing.T) {
	c := config(Standard)
	for name, looks := range map[string][][]time.Duration{ // of each master, when its answers were received
		"one each":              {{0}, {0}, {0}, {0}, {0}},
		"one has answered once": {{0, 1e9}, {0, 1e9}, {0, 1e9}, {0, 1e9}, {1e9}},
		"one came late":         {{0, 1e9, 2e9}, {0, 1e9, 2e9}, {0, 1e9, 2e9}, {0, 1e9, 2e9}, {1991e6, 3e9}},
		"asked too early":       {{0, 1e9}, {0, 1e9}, {0, 1e9}, {0, 1e9}, {0, 9e6}},
		"no look at all":        {{}, {0, 1e9}, {0, 1e9}, {0, 1e9}, {0, 1e9}},
	} {
		facts := fleet(c)
		for i := range facts {
			facts[i].Marker = missingAt(9e9) // not by Answer, which alone counts
			for _, d := range looks[i] {
				facts[i].Answer(missingAt(d))
			}
		}
		for _, final := range []bool{false, true} {
			if step, on := c.Plan(facts, final); step != Again {
				t.Errorf("%s, final %v: step %d on %v, want another look", name, final, step, on)
			}
		}
		for i := range facts {
			facts[i].Answer(missingAt(5e9))
			facts[i].Answer(missingAt(6e9))
		}
		if step, _ := c.Plan(facts, false); step != ToDeclare {
			t.Errorf("%s, and two more looks: step %d", name, step)
		}
	}
}

func TestAMarkerInBetweenStartsTheLooksAnew(t *testing.T) {
	c := config(Standard)
	facts := fleet(c)
	marker := facts[2].Marker
	for i := range facts {
		facts[i].empty()
	}
	facts[2].Answer(marker)
	facts[2].Answer(missingAt(2e9))
	if step, _ := c.Plan(facts, true); step != Again {
		t.Errorf("step %d", step)
	}
}

// A rolling restart of masters that keep nothing: each of the three is empty at
// some time, never all at once, and a client that comes late has seen each of
// them empty.
func TestARollingRestartIsNoNewFleet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := config(Standard)
		c.Masters = 3
		cluster, err := simmaster.StartMemoryCluster(c.Masters)
		if err != nil {
			t.Fatal(err)
		}
		defer cluster.Close()
		dialled := func(i int) *master {
			conn, err := cluster.Masters()[i].Dial(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return &master{t: t, conn: redis.NewConn(conn, 0, 0), run: cluster.Masters()[i].RunID()}
		}
		facts := make([]Facts, c.Masters)
		look := func(i int) *master {
			m := dialled(i)
			time.Sleep(time.Millisecond)
			if f := m.facts(Marker{}); facts[i].Info != f.Info {
				facts[i] = f // of a new connection
				facts[i].Master = cluster.Masters()[i].Name()
			}
			facts[i].Answer(m.dial(c))
			return m
		}
		for i := range facts {
			m := dialled(i)
			m.script(Declare, c.DeclareArgs(m.run))
		}

		if err := cluster.Masters()[0].Restart(false); err != nil {
			t.Fatal(err)
		}
		look(0) // empty
		adopting := dialled(0)
		adopting.script(Adopt, c.AdoptArgs(adopting.run)) // by another client, which sees the others' markers
		for _, i := range []int{1, 2} {
			if err := cluster.Masters()[i].Restart(false); err != nil {
				t.Fatal(err)
			}
			look(i) // empty
		}
		if step, _ := c.Plan(facts, true); step == ToDeclare {
			t.Fatal("each was found empty once, and that is taken for a new fleet")
		}
		for i := range facts {
			look(i)
		}
		step, on := c.Plan(facts, true)
		if step != ToAdopt || !slices.Equal(on, []int{1, 2}) {
			t.Errorf("step %d on %v, want %d on [1 2]", step, on, ToAdopt)
		}
	})
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
		f.Answer(f.Marker)
		judge := func() Standing { return c.Standings([]Facts{f}, f.Marker.Clock.Received)[0] }
		if s := judge(); s.Vote || s.Why.Cause != NoMarker {
			t.Errorf("before: %v", s)
		}
		if step, _ := c.Plan([]Facts{f}, true); step != Again {
			t.Errorf("after one look: step %d", step)
		}
		f.Answer(m.dial(c))
		if step, _ := c.Plan([]Facts{f}, false); step != ToDeclare {
			t.Errorf("after two looks: step %d", step)
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

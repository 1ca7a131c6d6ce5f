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

// settledAt is when it has been known for a second that a master is empty, and
// awayAt when that has been known for ten.
var settledAt, awayAt = at(2 * time.Second), at(11 * time.Second)

// instants are some from the last look on.
var instants = []drift.Instant{at(time.Second), at(2*time.Second - 1), settledAt, at(11*time.Second - 1), awayAt, at(time.Hour)}

var errTest = errors.New("NOPERM")

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
			wantFleet := map[Step]string{ToDeclare: c.NewFleetID(facts)}
			wanted := func(now drift.Instant, step Step, on []int) {
				t.Helper()
				if step != ToDeclare && step != ToAdopt {
					on = nil
				}
				p := c.Plan(facts, now)
				if p.Step != step || !slices.Equal(p.Masters, on) || p.Fleet != wantFleet[step] {
					t.Errorf("the plan is %+v, want %d on %v for %q", p, step, on, wantFleet[step])
				}
			}
			wanted(at(2*time.Second-1), test.early, test.on)
			wanted(settledAt, test.final, test.on)
			wanted(awayAt, test.final, test.on)
			// While one may yet answer, nobody is adopted for ten seconds.
			facts[4].Pending = true
			wanted(settledAt, test.early, test.on)
			wanted(at(11*time.Second-1), test.early, test.on)
			wanted(awayAt, test.final, test.on)
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

func TestAMarkerInBetweenStartsTheLooksAnew(t *testing.T) {
	c := config(Standard)
	facts := fleet(c)
	marker := facts[2].Marker
	for i := range facts {
		facts[i].empty()
	}
	facts[2].Answer(marker)
	facts[2].Answer(missingAt(2e9))
	for _, now := range instants {
		if p := c.Plan(facts, now); p.Step != Again {
			t.Errorf("at %v: %+v", now, p)
		}
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
			m.script(Declare, c.DeclareArgs(m.now()))
		}

		if err := cluster.Masters()[0].Restart(false); err != nil {
			t.Fatal(err)
		}
		look(0) // empty
		adopting := dialled(0)
		time.Sleep(time.Second)
		wantVerdict(t, adopting.script(Adopt, c.AdoptArgs(adopting.now())), Adopted) // by another client, which sees the others' markers
		for _, i := range []int{1, 2} {
			if err := cluster.Masters()[i].Restart(false); err != nil {
				t.Fatal(err)
			}
			look(i) // empty
		}
		time.Sleep(time.Second)
		if p := c.Plan(facts, drift.System().Now()); p.Step != Again {
			t.Errorf("found empty once each: %+v", p)
		}
		time.Sleep(time.Hour)
		if p := c.Plan(facts, drift.System().Now()); p.Step == ToDeclare {
			t.Fatal("each was found empty once, and that is taken for a new fleet")
		}
		for i := range facts {
			look(i)
		}
		p := c.Plan(facts, drift.System().Now())
		if p.Step != ToAdopt || !slices.Equal(p.Masters, []int{1, 2}) {
			t.Errorf("%+v, want %d on [1 2]", p, ToAdopt)
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
	for _, now := range instants {
		c.Masters = 6
		if p := c.Plan(facts, now); p.Step == ToDeclare {
			t.Error("five of six declare the fleet")
		}
		c.Masters = 4
		if p := c.Plan(facts, now); p.Step == ToDeclare {
			t.Error("five of four declare the fleet")
		}
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

func TestAnAdoptedMasterWaitsAndADeclaredOneVotes(t *testing.T) {
	onEach(t, func(t *testing.T, m *master) {
		c := config(Standard)
		c.Masters = 1
		f := m.facts(m.dial(c))
		f.Answer(f.Marker)
		judge := func() Standing { return c.Standings([]Facts{f}, f.Marker.Clock.Received)[0] }
		plan := func(after time.Duration) Step { return c.Plan([]Facts{f}, later(f.Marker.Clock.Received, after)).Step }
		if s := judge(); s.Vote || s.Why.Cause != NoMarker {
			t.Errorf("before: %v", s)
		}
		if step := plan(time.Minute); step != Again {
			t.Errorf("after one look: step %d", step)
		}
		f.Answer(m.dial(c))
		if step := plan(0); step != ToDeclare {
			t.Errorf("after two looks: step %d", step)
		}
		f.Answer(m.script(Declare, c.DeclareArgs(m.now())))
		if s := judge(); !s.Vote {
			t.Errorf("declared: %v", s)
		}
		m.do("FLUSHALL")
		m.sight(10*time.Second, 10*time.Second)
		f.Answer(m.script(Adopt, c.AdoptArgs(m.now())))
		wantVerdict(t, f.Marker, Adopted)
		if s := judge(); s.Vote || s.Why.Cause != Quarantined || s.Why.Left > c.Quarantine()-10*time.Second || s.Why.Left < c.Quarantine()-time.Minute || s.Why.How != HowAdopted {
			t.Errorf("adopted: %v", s)
		}
		f.Answer(m.dial(c))
		if s := judge(); s.Vote || s.Why.Cause != Quarantined {
			t.Errorf("dialled again: %v", s)
		}
	})
}

// later is an instant by our clocks, so much after another.
func later(than drift.Instant, by time.Duration) drift.Instant {
	return drift.AtWithoutBoot(than.MonotonicSub(drift.AtWithoutBoot(0, time.Time{}))+by, than.Wall().Add(by))
}

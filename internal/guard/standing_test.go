package guard

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redquorum/redquorum/drift"
)

// healthy is a master of the fleet whose marker is so old, judged at at(0).
func healthy(c Config, i int, age time.Duration) Facts {
	run := fmt.Sprintf("%040d", i)
	clock := drift.Reading{Sent: at(-10 * time.Millisecond), Received: at(0), Time: at(0).Wall().Add(-5 * time.Millisecond)}
	return Facts{
		Master:    fmt.Sprintf("10.0.0.%d:6379", i),
		Connected: true,
		Word:      Same,
		Info:      Info{RunID: run, Role: "master", Policy: "noeviction"},
		Marker: Marker{Verdict: Same, Clock: clock, Fields: Fields{
			Version: Version, Run: run, Replid: otherID, Since: itoa(clock.Time.Add(-age).UnixMilli()), Wall: itoa(clock.Sent.Wall().Add(-age).UnixMilli()),
			MaxTTL: millis(c.MaxTTL), Masters: itoa(int64(c.Masters)), LevelIs: c.Level.String(), DB: "0", How: HowDeclared,
		}},
	}
}

func fleet(c Config) []Facts {
	facts := make([]Facts, c.Masters)
	for i := range facts {
		facts[i] = healthy(c, i+1, time.Hour)
	}
	return facts
}

// skewed moves a master's clock, and its marker with it.
func (f *Facts) skewed(by time.Duration) {
	f.Marker.Clock.Time = f.Marker.Clock.Time.Add(by)
	since, _ := instant(f.Marker.Since)
	f.Marker.Since = itoa(since.Add(by).UnixMilli())
}

func TestStandings(t *testing.T) {
	both, strict, standard, off := []Level{Standard, Strict}, []Level{Strict}, []Level{Standard}, []Level{Off}
	const votes Cause = ""
	for name, test := range map[string]struct {
		levels []Level
		change func(f *Facts)
		want   Cause
		text   []string // parts of the standing's text
	}{
		"healthy":        {both, func(*Facts) {}, votes, []string{"votes"}},
		"off, no marker": {off, func(f *Facts) { *f = Facts{Master: f.Master, Connected: true} }, votes, nil},
		"off, a replica": {off, func(f *Facts) { f.Info.Role = "slave" }, votes, nil},
		"off, not there": {off, func(f *Facts) { f.Connected = false }, NotConnected, nil},
		"not connected":  {both, func(f *Facts) { f.Connected, f.Err = false, errors.New("connection refused") }, NotConnected, []string{"not connected: connection refused"}},
		"without DEL":    {both, func(f *Facts) { f.Refused = Refused{CommandsOf(nil, "DEL"), errors.New("ERR unknown command")} }, Forbidden, []string{"refuses DEL", "ERR unknown command", "permit the commands"}},
		"without ZREM": {both, func(f *Facts) {
			f.Refused = Refused{1 << slices.Index(tried, "ZREM"), errors.New("ERR unknown command")}
		}, votes, nil},
		"a replica": {both, func(f *Facts) { f.Info.Role = "slave" }, NotMaster, []string{"role is slave, want master"}},
		"may evict": {both, func(f *Facts) { f.Info.Policy = "allkeys-lru" }, MayEvict, []string{"allkeys-lru", "want noeviction", "CONFIG SET"}},

		"a member of a cluster":    {both, func(f *Facts) { f.Info.Mode = "cluster" }, NotStandalone, []string{"Redis Cluster", "independent masters", "docs/reference/servers.md"}},
		"a sentinel":               {both, func(f *Facts) { f.Info = Info{RunID: f.Info.RunID, Mode: "sentinel"} }, NotStandalone, []string{"is a Sentinel", "list the master that it watches", "docs/reference/servers.md"}},
		"another mode":             {both, func(f *Facts) { f.Info.Mode = "swarm" }, NotStandalone, []string{"mode swarm, want standalone"}},
		"a replica in a cluster":   {both, func(f *Facts) { f.Info.Mode, f.Info.Role = "cluster", "slave" }, NotStandalone, nil},
		"standalone":               {both, func(f *Facts) { f.Info.Mode = "standalone" }, votes, nil},
		"a cluster, not connected": {both, func(f *Facts) { f.Info.Mode, f.Connected = "cluster", false }, NotConnected, nil},
		"no history, standard":     {standard, func(f *Facts) { f.Marker.Replid = "" }, votes, []string{"unguarded", "master_replid", "+info"}},
		"no history, strict":       {strict, func(f *Facts) { f.Marker.Replid = "" }, Unreadable, []string{"master_replid", "+info"}},
		"no history, and young":    {standard, func(f *Facts) { f.restarted(Restarted); f.Marker.Replid = "" }, Quarantined, nil},

		"INFO refused, strict":    {strict, func(f *Facts) { f.Info, f.InfoErr = Info{}, errors.New("NOPERM\r\nno") }, Unreadable, []string{"INFO cannot be read: NOPERM  no", "+info"}},
		"INFO refused, standard":  {standard, func(f *Facts) { f.Info, f.InfoErr = Info{}, errors.New("NOPERM") }, votes, []string{"votes, unguarded", "NOPERM", "+info"}},
		"no policy, strict":       {strict, func(f *Facts) { f.Info.Policy = "" }, Unreadable, []string{`maxmemory_policy ""`}},
		"no policy, standard":     {standard, func(f *Facts) { f.Info.Policy = "" }, votes, []string{"unguarded", `maxmemory_policy ""`}},
		"no run_id, and evicting": {standard, func(f *Facts) { f.Info.RunID, f.Info.Policy = "", "allkeys-lfu" }, MayEvict, nil},
		"half of INFO, a replica": {both, func(f *Facts) { f.Info, f.InfoErr = Info{Role: "slave"}, errors.New("half") }, NotMaster, nil},

		"the script has not answered": {both, func(f *Facts) { f.Marker = Marker{} }, Unmarked, []string{"still being checked"}},
		"the script failed":           {both, func(f *Facts) { f.MarkerErr = errors.New("READONLY") }, Unmarked, []string{"still being checked: READONLY"}},
		"another was faster":          {both, func(f *Facts) { f.Marker = Marker{Verdict: Present} }, Unmarked, nil},
		"no marker any more":          {standard, func(f *Facts) { f.Marker, f.Seen, f.Ours = Marker{Verdict: Missing}, "0", true }, NoMarker, []string{"it has lost its data", "votes after a quarantine"}},
		"no marker":                   {standard, func(f *Facts) { f.Marker = Marker{Verdict: Missing} }, NoMarker, []string{"new or has lost its data", "gets a marker when all masters have answered or failed", "redlock init", "Client.Init"}},
		"what is no marker":           {both, func(f *Facts) { f.Marker = Marker{Verdict: WrongType, Clock: f.Marker.Clock, Type: "zset"} }, NotOurs, []string{Key, "zset", "want a hash"}},

		"conflict":            {both, func(f *Facts) { f.Marker.Verdict, f.Marker.Masters = Conflict, "3" }, OtherFleet, []string{"3 masters, MaxTTL 1m0s", "this client says 5 masters, MaxTTL 1m0s", "init --force"}},
		"another MaxTTL":      {both, func(f *Facts) { f.Marker.MaxTTL = "30000" }, OtherFleet, []string{"MaxTTL 30s"}},
		"garbage for MaxTTL":  {both, func(f *Facts) { f.Marker.MaxTTL = "3\n" }, OtherFleet, []string{`MaxTTL "3\n" ms`}},
		"the other level":     {standard, func(f *Facts) { f.Marker.LevelIs = "strict" }, OtherFleet, []string{"level strict", "level standard"}},
		"another version":     {both, func(f *Facts) { f.Marker.Version = "2" }, OtherFleet, []string{"version 2 instead of 3"}},
		"another database":    {both, func(f *Facts) { f.Marker.Verdict, f.Marker.DB, f.DB = Conflict, "7", 3 }, OtherFleet, []string{"database 7", "database 3"}},
		"changed since":       {both, func(f *Facts) { f.Changed = true }, Changed, []string{"lost or replaced", "being checked again"}},
		"of another process":  {both, func(f *Facts) { f.Marker.Run = "x" }, Changed, []string{"run x for run_id 000"}},
		"restarted":           {both, func(f *Facts) { f.restarted(Restarted) }, Quarantined, []string{"it was restarted", "votes at "}},
		"resynced":            {both, func(f *Facts) { f.restarted(Restarted); f.Marker.How = HowResynced }, Quarantined, []string{"another history", "resynchronised", "first replica"}},
		"evicted":             {both, func(f *Facts) { f.restarted(Restarted); f.Marker.How = HowEvicted }, Quarantined, []string{"it has evicted keys", "votes at "}},
		"reset":               {both, func(f *Facts) { f.restarted(Reset) }, Quarantined, []string{"clock was set back"}},
		"adopted":             {standard, func(f *Facts) { f.restarted(Adopted) }, Quarantined, []string{"without a marker", "new or had lost its data", "redlock init"}},
		"forced":              {both, func(f *Facts) { f.restarted(Forced) }, Quarantined, []string{"operator has changed the fleet"}},
		"young, not told how": {both, func(f *Facts) { f.restarted(Same) }, Quarantined, []string{"may have forgotten locks"}},
		"declared":            {both, func(f *Facts) { f.Marker.Verdict, f.Marker.Since = Declared, "0" }, votes, nil},
		"since in the future": {both, func(f *Facts) { f.Marker.Since = "999999999999999" }, Quarantined, nil},
		"since is garbage":    {both, func(f *Facts) { f.Marker.Since = "x" }, Quarantined, nil},

		"clock 1 s ahead, standard": {standard, func(f *Facts) { f.skewed(time.Second) }, votes, nil},
		"clock just ahead":          {strict, func(f *Facts) { f.skewed(500 * time.Millisecond) }, votes, nil},
		"clock ahead":               {strict, func(f *Facts) { f.skewed(506 * time.Millisecond) }, OffClock, []string{"506ms ± 5ms ahead of ours", "at most 500ms", "the master's clock"}},
		"clock behind":              {strict, func(f *Facts) { f.skewed(-time.Hour) }, OffClock, []string{"1h0m0s ± 5ms behind ours"}},
		"clock just behind":         {strict, func(f *Facts) { f.skewed(-500 * time.Millisecond) }, votes, nil},
		"the script says SKEW":      {strict, func(f *Facts) { f.Marker = Marker{Verdict: Skewed, Clock: f.Marker.Clock} }, OffClock, nil},
		"a newer look at the clock": {strict, func(f *Facts) {
			f.Answer(f.Marker)
			m := f.Marker
			m.Clock.Time = m.Clock.Time.Add(time.Minute)
			f.Answer(m)
		}, OffClock, []string{"1m0s"}},
		"a newer look that is well": {strict, func(f *Facts) {
			m := f.Marker
			f.skewed(-time.Minute)
			f.Answer(f.Marker)
			f.Answer(m)
		}, votes, nil},
		"no look at the clock": {strict, func(f *Facts) { f.Marker.Clock = drift.Reading{Time: at(0).Wall()} }, votes, nil},
	} {
		for _, level := range test.levels {
			t.Run(name+", "+level.String(), func(t *testing.T) {
				c := config(level)
				facts := fleet(c)
				test.change(&facts[2])
				for i, s := range c.Standings(facts, at(0)) {
					if s.Master != facts[i].Master || s.Vote != (s.Why == nil) {
						t.Errorf("%d: %+v", i, s)
					}
					if i != 2 {
						if !s.Vote {
							t.Errorf("a healthy master %v", s)
						}
						continue
					}
					if s.Vote != (test.want == votes) || !s.Vote && s.Why.Cause != test.want {
						t.Errorf("it %v", s)
					}
					for _, part := range test.text {
						if !strings.Contains(s.String(), part) {
							t.Errorf("it %v: want it to name %q", s, part)
						}
					}
					if strings.ContainsAny(s.String(), "\r\n\x00") {
						t.Errorf("not one line: %q", s)
					}
				}
			})
		}
	}
}

func (f *Facts) restarted(v Verdict) {
	f.Marker.Verdict, f.Marker.Since = v, itoa(f.Marker.Clock.Time.UnixMilli())
	f.Marker.Wall = itoa(f.Marker.Clock.Sent.Wall().UnixMilli())
	f.Marker.How = map[Verdict]string{
		Restarted: HowRestarted, Reset: HowReset, Adopted: HowAdopted, Forced: HowForced,
	}[v]
}

func TestStandingShowsTheQuarantineUntilItEnds(t *testing.T) {
	c := config(Standard)
	q := c.Quarantine()
	facts := fleet(c)
	facts[0] = healthy(c, 1, 10*time.Second)
	// The marker is kept in milliseconds, so its age may be almost one more.
	for _, passed := range []time.Duration{0, time.Second, q - 10*time.Second - time.Millisecond} {
		s := c.Standings(facts, at(passed))[0]
		if s.Vote || s.Why.Cause != Quarantined {
			t.Fatalf("after %v it %v", passed, s)
		}
		left := q - 10*time.Second - passed
		if s.Why.Left > left || s.Why.Left < left-time.Millisecond {
			t.Errorf("after %v: %v left, want %v", passed, s.Why.Left, left)
		}
		if s.Why.Want != q.String() {
			t.Errorf("it wants %s, want %v", s.Why.Want, q)
		}
		if want := at(passed).Wall().Add(s.Why.Left); !s.Why.Until.Equal(want) {
			t.Errorf("until %v, want %v", s.Why.Until, want)
		}
		if text := s.String(); !strings.Contains(text, s.Why.Until.Add(time.Second-1).UTC().Format("2006-01-02T15:04:05Z")) || !strings.Contains(text, "in "+s.Why.Left.Round(time.Millisecond).String()) {
			t.Errorf("it %s", text)
		}
	}
	if s := c.Standings(facts, at(q-10*time.Second))[0]; !s.Vote {
		t.Errorf("at its end it %v", s)
	}
}

func TestOneServerAtTwoAddressesHasOneVote(t *testing.T) {
	for _, level := range []Level{Off, Standard, Strict} {
		c := config(level)
		facts := fleet(c)
		twin := facts[3]
		twin.Master = "10.0.0.10:6379"
		facts[0], facts[3] = healthy(c, 4, time.Hour), twin // the first by its address, not in the list
		s := c.Standings(facts, at(0))
		if !s[3].Vote || s[0].Vote || s[0].Why.Cause != Duplicate {
			t.Errorf("%v: %v; %v", level, s[0], s[3])
		}
		for i, want := range map[int]string{3: "10.0.0.4:6379", 0: "10.0.0.10:6379", 1: ""} {
			if got := strings.Join(s[i].Aliases, " "); got != want {
				t.Errorf("%v: aliases of %s are %q, want %q", level, s[i].Master, got, want)
			}
			if !strings.Contains(s[i].String(), want) {
				t.Errorf("%v: %v: want it to name %s", level, s[i], want)
			}
		}
		// The address that has the vote keeps it even when it may not use it: a client that saw the
		// other address in its place would count one server twice.
		if level == Off {
			continue
		}
		facts[3].MarkerErr = errors.New("NOPERM")
		for i, s := range c.Standings(facts, at(0)) {
			if s.Vote != (i != 0 && i != 3) {
				t.Errorf("%v: %d %v", level, i, s)
			}
		}
		facts[3].Connected = false
		if s := c.Standings(facts, at(0)); !s[0].Vote || s[0].Aliases != nil {
			t.Errorf("%v: alone it %v", level, s[0])
		}
	}
}

func TestAMajorityThatIsOffPutsOurOwnClockInDoubt(t *testing.T) {
	c := config(Strict)
	for _, test := range []struct {
		off  []time.Duration
		ours bool
	}{
		{[]time.Duration{time.Hour, time.Hour, time.Hour, 0, 0}, true},
		{[]time.Duration{-time.Hour, -time.Hour, -time.Hour, -time.Hour, time.Hour}, true},
		{[]time.Duration{time.Hour, time.Hour, 0, 0, 0}, false},
		{[]time.Duration{time.Hour, time.Hour, -time.Hour, -time.Hour, 0}, false},
	} {
		facts := fleet(c)
		for i := range facts {
			facts[i].skewed(test.off[i])
		}
		s := c.Standings(facts, at(0))
		if s[0].Why == nil || s[0].Why.Ours != test.ours || strings.Contains(s[0].String(), "this machine's clock") != test.ours {
			t.Errorf("%v: %v", test.off, s[0])
		}
	}
}

// anyFacts makes up a master that is mostly healthy, with random faults.
func anyFacts(rng *rand.Rand, c Config, i int) Facts {
	f := healthy(c, i, time.Duration(rng.Int64N(int64(2*c.Quarantine()))))
	one := func(n int) bool { return rng.IntN(n) == 0 }
	if one(4) {
		f.Info.RunID = fmt.Sprintf("%040d", rng.IntN(3))
		f.Marker.Run = f.Info.RunID
	}
	if one(8) {
		f.Connected = false
	}
	if one(10) {
		f.Info.Role = "slave"
	}
	if one(10) {
		f.Info.Policy = "allkeys-lru"
	}
	if one(10) {
		f.Info, f.InfoErr = Info{}, errors.New("NOPERM")
	}
	if one(10) {
		f.Marker.Verdict = Verdict(rng.IntN(int(Present) + 2))
	}
	if one(10) {
		f.Marker.MaxTTL = "1"
	}
	if one(10) {
		f.Marker.Run = "x"
	}
	if one(10) {
		f.MarkerErr = errors.New("BUSY")
	}
	if one(10) {
		f.skewed(time.Duration(rng.Int64N(int64(2*time.Second))) - time.Second)
	}
	f.Changed = one(10)
	if one(10) {
		f.Info.Mode = []string{"cluster", "standalone"}[rng.IntN(2)]
	}
	if one(10) {
		f.Marker.Replid = ""
	}
	if one(10) {
		f.Marker.Wall = itoa(at(0).Wall().UnixMilli() - rng.Int64N(2*c.Quarantine().Milliseconds()))
	}
	f.Marker.How = []string{HowDeclared, HowAdopted, HowRestarted, ""}[rng.IntN(4)]
	f.Marker.Sighted = time.Duration(rng.Int64N(int64(12 * time.Second)))
	f.Pending = one(5)
	if one(3) { // seen before, perhaps with another clock
		m := f.Marker
		f.Answer(m)
		m.Clock.Time = m.Clock.Time.Add(time.Duration(rng.Int64N(int64(2*time.Hour))) - time.Hour)
		f.Answer(m)
		f.MarkerErr, f.Changed = nil, false
	}
	return f
}

func TestPropertiesOfStandings(t *testing.T) {
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 2))
		c := config([]Level{Off, Standard, Strict}[rng.IntN(3)])
		c.Masters = 1 + rng.IntN(7)
		facts := make([]Facts, c.Masters)
		for i := range facts {
			facts[i] = anyFacts(rng, c, i+1)
		}
		now := at(time.Duration(rng.Int64N(int64(time.Minute))))
		standings := c.Standings(facts, now)

		byAddress := map[string]Standing{}
		runs, unknown, votes := map[string]bool{}, 0, 0
		for i, s := range standings {
			f := facts[i]
			byAddress[s.Master] = s
			if runs[f.Info.RunID] = true; f.Info.RunID == "" {
				unknown++
			}
			if s.Vote == (s.Why != nil) || s.Master != f.Master {
				t.Fatalf("seed %d: %+v", seed, s)
			}
			if !s.Vote && s.Why.Cause == Quarantined && s.Why.Left <= 0 {
				t.Fatalf("seed %d: %v left of a quarantine", seed, s.Why.Left)
			}
			if !s.Vote {
				continue
			}
			votes++
			if !f.Connected {
				t.Fatalf("seed %d: a master that is not connected votes", seed)
			}
			if c.Level == Off || c.Level == Standard && f.Info.RunID == "" {
				continue
			}
			if age, ok := f.age(now); !ok || age < c.Quarantine() {
				t.Fatalf("seed %d: a master that remembers for %v (%v) votes, the quarantine is %v", seed, age, ok, c.Quarantine())
			}
		}
		delete(runs, "")
		if votes > len(runs)+unknown {
			t.Fatalf("seed %d: %d votes of %d processes", seed, votes, len(runs)+unknown)
		}
		for i, s := range standings { // no two votes of one process
			for j := range i {
				if s.Vote && standings[j].Vote && facts[i].Info.RunID != "" && facts[i].Info.RunID == facts[j].Info.RunID {
					t.Fatalf("seed %d: %s and %s are one process and both vote", seed, s.Master, standings[j].Master)
				}
			}
		}

		later := now
		if seed%2 == 0 {
			later = at(longestWait)
		}
		plan := c.Plan(facts, later)
		planned := addresses(facts, plan.Masters)
		rng.Shuffle(len(facts), func(i, j int) { facts[i], facts[j] = facts[j], facts[i] })
		for _, s := range c.Standings(facts, now) {
			if !reflect.DeepEqual(s, byAddress[s.Master]) {
				t.Fatalf("seed %d: in another order %v, before %v", seed, s, byAddress[s.Master])
			}
		}
		again := c.Plan(facts, later)
		if again.Step != plan.Step || !slices.Equal(addresses(facts, again.Masters), planned) {
			t.Fatalf("seed %d: in another order the plan is %+v for %v, before %+v for %v", seed, again, addresses(facts, again.Masters), plan, planned)
		}
	}
}

func addresses(facts []Facts, indices []int) (names []string) {
	for _, i := range indices {
		names = append(names, facts[i].Master)
	}
	slices.Sort(names)
	return names
}

func TestReasonsDoNotHideTheirCauses(t *testing.T) {
	cause := errors.New("connection refused")
	r := &AbstainError{Cause: NotConnected, Err: cause}
	if !errors.Is(r, cause) {
		t.Error("errors.Is does not reach what went wrong")
	}
	if !(&AbstainError{Cause: Quarantined}).Passes() || (&AbstainError{Cause: OtherFleet}).Passes() || (&AbstainError{Cause: OffClock}).Passes() || (&AbstainError{Cause: NotStandalone}).Passes() {
		t.Error("Passes")
	}
}

package guard

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// ofOthers is the answer of a master whose marker names other settings.
func ofOthers(c Config) Marker {
	m := healthy(c, 1, time.Hour).Marker
	m.Verdict = Conflict
	return m
}

// The lists have different lengths. Each row is what the first masters of our list said last; all
// others are healthy.
func TestNoMasterVotesIfClientsWithAnotherMasterCountMayHaveAQuorum(t *testing.T) {
	of := func(n int) Config { c := config(Standard); c.Masters = n; return c }
	longer := of(3)
	longer.MaxTTL = time.Hour
	says := func(c Config) func(f *Facts) { return func(f *Facts) { f.Answer(ofOthers(c)) } }
	away := func(c Config) func(f *Facts) {
		return func(f *Facts) { f.Answer(ofOthers(c)); *f = f.Memory(); f.Err = errTest }
	}
	cleared := func(c Config) func(f *Facts) { return func(f *Facts) { f.Answer(ofOthers(c)); f.empty() } }
	silent := func(f *Facts) { *f = Facts{Master: f.Master, Err: errTest} }
	for name, test := range map[string]struct {
		ours  int
		first []func(f *Facts)
		votes bool // the rest
	}{
		"one, of one":                       {3, []func(f *Facts){says(of(1))}, false},
		"one, of one, which is away":        {3, []func(f *Facts){away(of(1))}, false},
		"one, of one, which has lost it":    {3, []func(f *Facts){cleared(of(1))}, true},
		"one of three":                      {5, []func(f *Facts){says(of(3))}, true},
		"two of three":                      {7, []func(f *Facts){says(of(3)), says(of(3))}, false},
		"two of three, away":                {7, []func(f *Facts){away(of(3)), away(of(3))}, false},
		"one of three, and one is silent":   {7, []func(f *Facts){says(of(3)), silent}, false},
		"none, and two are silent":          {7, []func(f *Facts){silent, silent}, true},
		"two that differ in MaxTTL":         {7, []func(f *Facts){says(of(3)), says(longer)}, true},
		"one of seven":                      {3, []func(f *Facts){says(of(7))}, true},
		"two of seven, and one is silent":   {3, []func(f *Facts){says(of(7)), says(of(7)), silent}, true},
		"of another version":                {3, []func(f *Facts){func(f *Facts) { m := ofOthers(of(1)); m.Version = "2"; f.Answer(m) }}, false},
		"of our number":                     {3, []func(f *Facts){says(longer)}, true},
		"of a number that nobody can read":  {3, []func(f *Facts){func(f *Facts) { m := ofOthers(of(1)); m.Masters = "x"; f.Answer(m) }}, true},
		"of no masters":                     {3, []func(f *Facts){func(f *Facts) { m := ofOthers(of(1)); m.Masters = "0"; f.Answer(m) }}, true},
		"four, of two fleets; one suffices": {9, []func(f *Facts){says(of(5)), says(of(5)), says(of(3)), says(of(3))}, false},
	} {
		for _, level := range []Level{Standard, Strict} {
			c := of(test.ours)
			c.Level = level
			facts := fleet(c)
			for i, change := range test.first {
				change(&facts[i])
			}
			standings := c.Standings(facts, at(0))
			for i, s := range standings[len(test.first):] {
				if s.Vote != test.votes {
					t.Errorf("%s, %v: master %d votes: %v, %v", name, level, len(test.first)+i, s.Vote, s.Why)
				}
				if !s.Vote && (s.Why.Cause != OtherFleet || !strings.Contains(s.Why.Error(), "redlock init --force") || slices.Contains(s.Why.Aliases, s.Master)) {
					t.Errorf("%s, %v: master %d does not vote: %v", name, level, len(test.first)+i, s.Why)
				}
			}
		}
	}
}

// A quarantine ends by itself, without another look. So OtherFleet takes its place.
func TestOtherFleetReplacesAQuarantineIfOthersMayHaveAQuorum(t *testing.T) {
	c := config(Standard)
	one := c
	one.Masters = 1
	facts := fleet(c)
	facts[0].Answer(ofOthers(one))
	facts[1] = healthy(c, 2, time.Second)
	facts[2].empty()
	for i, s := range c.Standings(facts, at(0))[1:] {
		if s.Vote || s.Why.Cause != OtherFleet || s.Why.Left != 0 {
			t.Errorf("master %d: %v", i+1, s)
		}
	}
}

func TestAListOfOneDeclaresNothingForASecond(t *testing.T) {
	c := config(Standard)
	c.Masters = 1
	facts := fleet(c)
	facts[0].empty()
	if p := c.Plan(facts, at(2*time.Second-1)); p.Step != Wait {
		t.Errorf("before: %+v", p)
	}
	if p := c.Plan(facts, settledAt); p.Step != ToDeclare {
		t.Errorf("after a second: %+v", p)
	}
}

func TestClientThatSawOtherSettingsAdoptsAfterTheLongestQuarantine(t *testing.T) {
	c, longer := config(Standard), config(Standard)
	longer.MaxTTL, longer.Masters = 5*time.Minute, 3
	facts := fleet(c)
	facts[0].Answer(ofOthers(longer))
	facts[0].empty()
	s := c.Standings(facts, settledAt)[0]
	if s.Why == nil || s.Why.Cause != NoMarker || s.Why.Left != longer.Quarantine()-time.Second {
		t.Errorf("it %v (%+v)", s, s.Why)
	}
	if p := c.Plan(facts, at(time.Second+longer.Quarantine()-1)); p.Step != Wait {
		t.Errorf("before: %+v", p)
	}
	if p := c.Plan(facts, at(time.Second+longer.Quarantine())); p.Step != ToAdopt {
		t.Errorf("at its end: %+v", p)
	}
}

// The script looks itself: the client may have read the sighting before somebody noted that the
// master is known.
func TestAnAdoptionOfAMasterThatOthersKnowWaitsAndKeepsTheLongestTTL(t *testing.T) {
	onEachLevel(t, func(t *testing.T, m *master, c Config) {
		q := c.Quarantine()
		stranger := Facts{Longest: 2 * time.Minute}
		m.sight(q, q, "known", "1")
		wantVerdict(t, m.script(Adopt, c.AdoptArgs(m.now(), stranger, "")), Missing)
		m.holds(nil)
		long := c.quarantineAfter(2*time.Minute) + time.Second
		m.sight(long, long, "known", "1")
		got := m.script(Adopt, c.AdoptArgs(m.now(), stranger, ""))
		wantVerdict(t, got, Adopted)
		if got.Was != "120000" || got.How != HowEmptied {
			t.Errorf("%+v", got)
		}
		m.do("DEL", Key)
		m.sight(2*time.Second, 2*time.Second, "known", "1")
		wantVerdict(t, m.script(Adopt, c.AdoptArgs(m.now(), Facts{Ours: true, Longest: c.MaxTTL}, "")), Adopted)
		if was := m.marker()["was"]; was != "" {
			t.Errorf("was is %q for no longer MaxTTL", was)
		}
	})
}

func TestAForcedInitWaitsForTheLongestTTLOfBefore(t *testing.T) {
	onEachLevel(t, func(t *testing.T, m *master, c Config) {
		for name, test := range map[string]struct {
			before  []string // the marker here
			longest time.Duration
			was     string
		}{
			"none":                            {nil, 0, ""},
			"shorter":                         {[]string{"maxttl", "1000"}, time.Second, ""},
			"the same":                        {[]string{"maxttl", "60000"}, time.Minute, ""},
			"longer":                          {[]string{"maxttl", "120000"}, 0, "120000"},
			"longer, at another master":       {[]string{"maxttl", "1000"}, time.Hour, "3600000"},
			"longer before that":              {[]string{"maxttl", "1000", "was", "7200000"}, 0, "7200000"},
			"longer, of another version":      {[]string{"v", "2", "maxttl", "120000"}, 0, "120000"},
			"no number":                       {[]string{"maxttl", "x", "was", "-1"}, 0, ""},
			"longer, at a master that is new": {nil, time.Hour, "3600000"},
		} {
			m.do("DEL", Key)
			if test.before != nil {
				m.put(c, test.before...)
			}
			got := m.script(Init, c.InitArgs(m.now(), Fields{}, true, test.longest))
			wantVerdict(t, got, Forced)
			if got.Was != test.was || m.marker()["was"] != test.was {
				t.Errorf("%s: was is %q, want %q", name, got.Was, test.was)
			}
			s := c.Standings([]Facts{m.facts(got)}, got.Clock.Received)[0]
			if want := c.quarantineAfter(duration(test.was)); s.Vote || s.Why.Left > want || s.Why.Left < want-5*time.Second {
				t.Errorf("%s: %+v, want %v", name, s.Why, want)
			}
		}
	})
}

// It is dropped when every earlier lock has expired, and kept if the quarantine begins again.
func TestTheLongestTTLOfBeforeIsKeptUntilItsQuarantineIsOver(t *testing.T) {
	onEachLevel(t, func(t *testing.T, m *master, c Config) {
		q := c.quarantineAfter(2 * time.Minute)
		for name, test := range map[string]struct {
			age     time.Duration
			changes []string
			kept    bool
		}{
			"young":                 {q - 5*time.Second, nil, true},
			"old":                   {q + time.Second, nil, false},
			"of another process":    {q + time.Second, []string{"run", "another"}, true},
			"of another history":    {q + time.Second, []string{"replid", "another"}, true},
			"with a time to come":   {-time.Hour, nil, true},
			"old, of another fleet": {q + time.Second, []string{"n", "3"}, true},
		} {
			since := itoa(m.time().Add(-test.age).UnixMilli())
			m.put(c, append([]string{"since", since, "wall", since, "how", HowForced, "was", "120000"}, test.changes...)...)
			now := m.now()
			if now.Aged = since; test.changes == nil {
				f := m.facts(m.dial(c))
				now.Aged = f.Aged(c, f.Marker.Clock.Received)
			}
			m.script(Dial, c.DialArgs(now)) // from a client that has judged it before
			if was := m.marker()["was"]; (was != "") != test.kept {
				t.Errorf("%s: was is %q", name, was)
			}
		}
	})
}

func TestALongerTTLOfBeforeIsRememberedWithoutTheMarker(t *testing.T) {
	c := config(Standard)
	m := healthy(c, 1, time.Hour).Marker
	m.Was = "120000"
	var f Facts
	f.Answer(m)
	f.Answer(missingAt(time.Second))
	if f = f.Memory(); Longest([]Facts{{}, f}) != 2*time.Minute {
		t.Errorf("%v", f.Longest)
	}
	m.Was = "120001x"
	if m.longest() != c.MaxTTL || (Fields{MaxTTL: "999999999999"}).longest() != 0 {
		t.Error("what is no MaxTTL counts")
	}
}

package guard

import (
	"strings"
	"testing"
	"time"
)

func TestAMarkerOfVersion1IsTakenOverWithoutAQuarantine(t *testing.T) {
	onEachLevel(t, func(t *testing.T, m *master, c Config) {
		c.Masters = 1
		want := m.put(c, version1...)
		got := m.dial(c)
		wantVerdict(t, got, Same)
		want["v"], want["replid"], want["db"] = "2", m.replid, "0"
		m.holds(want)
		if s := c.Standings([]Facts{m.facts(got)}, got.Clock.Received)[0]; !s.Vote || s.Unguarded != nil {
			t.Errorf("it %v", s)
		}
		m.newHistory() // which counts from now on
		wantVerdict(t, m.dial(c), Restarted)
	})
}

// Only what it says of this process and configuration is taken over.
func TestAMarkerOfVersion1IsJudgedLikeAnyOther(t *testing.T) {
	type row struct {
		field, value string
		want         Verdict
		how          string
	}
	onEachCase(t, map[string]row{
		"another process":   {"run", "another", Restarted, HowRestarted},
		"in the future":     {"since", "999999999999999", Reset, HowReset},
		"no time":           {"since", "never", Reset, HowReset},
		"another MaxTTL":    {"maxttl", "30000", Conflict, ""},
		"another number":    {"n", "3", Conflict, ""},
		"another level":     {"level", "strict", Conflict, ""},
		"another version":   {"v", "0", Conflict, ""},
		"another database":  {"db", "7", Conflict, ""},
		"another history":   {"replid", strings.Repeat("0", 40), Restarted, HowResynced}, // of half a version
		"as it should be":   {"more", "of it", Same, ""},
		"a later version":   {"v", "3", Conflict, ""},
		"no version at all": {"v", "-", Conflict, ""},
	}, func(t *testing.T, m *master, test row) {
		c := config(Standard)
		want := m.put(c, append(append([]string(nil), version1...), test.field, test.value)...)
		then := m.time()
		got := m.dial(c)
		wantVerdict(t, got, test.want)
		if got.How != test.how {
			t.Errorf("how is %q, want %q", got.How, test.how)
		}
		switch test.want {
		case Conflict:
			m.holds(want)
		case Same:
		default:
			m.isNow(got, then)
			if stored := m.marker(); stored["v"] != "2" || stored["run"] != m.run || stored["replid"] != m.replid || stored["db"] != "0" || stored["without"] != "" {
				t.Errorf("the marker is %v", stored)
			}
		}
	})
}

// Where a client has no INFO the history is filled in by the first that has.
func TestDialFillsInWhatAMarkerLacksAndKeepsSince(t *testing.T) {
	type row struct{ field, kept, want string } // want: "+" the master's history, "" nothing
	onEachCase(t, map[string]row{
		"history":                      {"replid", "declared", "+"},
		"database":                     {"db", "declared", "0"},
		"fleet, adopted":               {"fleet", "adopted", "f1"},
		"fleet, created":               {"fleet", "created", "f1"},
		"fleet, of an older one":       {"fleet", "declared", ""},
		"fleet, restarted":             {"fleet", "restarted", ""},
		"fleet, of one without a past": {"fleet", "", ""},
		"nothing":                      {"junk", "adopted", ""}, // an id that it has is not replaced
	}, func(t *testing.T, m *master, test row) {
		c := config(Standard)
		for _, missing := range []string{"", "-"} {
			want := m.put(c, "fleet", "f2", test.field, missing, "how", test.kept)
			target := m.now()
			target.Fleet = "f1"
			wantVerdict(t, m.script(Dial, c.DialArgs(target)), Same)
			switch test.want {
			case "+":
				want[test.field] = m.replid
			case "":
			default:
				want[test.field] = test.want
			}
			m.holds(want)
		}
	})
}

func TestTheFleetsScriptActsOnlyOnTheMarkerThatWasSeen(t *testing.T) {
	type row struct {
		do      func(c Config, t Target, seen string) []any
		seen    string
		changes []string // nil, of an empty fleet: there is no marker
		want    Verdict
		written map[string]string // beside since and wall of REVOKED
	}
	name, whole, revoke := Config.NameArgs, Config.WholeArgs, Config.RevokeArgs
	onEachCase(t, map[string]row{
		"name":               {name, "", []string{"fleet", ""}, Same, map[string]string{"fleet": "f2"}},
		"name, none at all":  {name, "", []string{"fleet", "-"}, Same, map[string]string{"fleet": "f2"}},
		"another name":       {name, "f1", nil, Same, map[string]string{"fleet": "f2"}},
		"another was faster": {name, "", []string{"fleet", "f1"}, Present, nil},
		"of another process": {name, "f1", []string{"run", "another"}, Present, nil},
		"of another history": {name, "f1", []string{"replid", "another"}, Present, nil},
		"another database":   {name, "f1", []string{"db", "1"}, Present, nil},
		"another version":    {name, "f1", []string{"v", "3"}, Present, nil},
		"version 1":          {name, "", version1, Present, nil},

		"whole":                        {whole, "f1", []string{"without", "1"}, Same, map[string]string{"without": ""}},
		"whole already":                {whole, "f1", nil, Present, nil},
		"whole, never so":              {whole, "f1", []string{"without", "-"}, Present, nil},
		"whole, another fleet":         {whole, "f2", []string{"without", "1"}, Present, nil},
		"whole, of another process":    {whole, "f1", []string{"without", "1", "run", "another"}, Present, nil},
		"revoke":                       {revoke, "f1", []string{"without", "1", "since", "0"}, Revoked, map[string]string{"without": "", "how": "revoked"}},
		"revoke of one that is whole":  {revoke, "f1", []string{"since", "0"}, Present, nil},
		"revoke of another fleet":      {revoke, "f2", []string{"without", "1", "since", "0"}, Present, nil},
		"revoke of another process":    {revoke, "f1", []string{"without", "1", "run", "another"}, Present, nil},
		"revoke of another history":    {revoke, "f1", []string{"without", "1", "replid", "another"}, Present, nil},
		"revoke where it is forgotten": {revoke, "", nil, Present, nil},
	}, func(t *testing.T, m *master, test row) {
		c := config(Standard)
		want := m.put(c, test.changes...)
		if test.seen == "" && test.changes == nil {
			m.do("DEL", Key)
			want = nil
		}
		then := m.time()
		target := m.now()
		target.Fleet = "f2"
		got := m.script(Fleet, test.do(c, target, test.seen))
		wantVerdict(t, got, test.want)
		for field, text := range test.written {
			want[field] = text
		}
		if test.want == Revoked {
			m.isNow(got, then)
			want["since"], want["wall"] = got.Since, got.Wall
		}
		m.holds(want)
		m.noSighting()
	})
}

// By which age and for which How it does: TestReplaceableIsWhatInitReplaces.
func TestInitReplacesAMarkerThatWasGivenLatelyAndNoOther(t *testing.T) {
	for name, changes := range map[string][]string{
		"of this fleet":              nil,
		"version 1":                  version1,
		"another version":            {"v", "3"},
		"another MaxTTL":             {"maxttl", "30000"},
		"another number":             {"n", "3"},
		"another level":              {"level", "off"},
		"another database":           {"db", "1"},
		"adopted by another process": {"run", "another"},
		"adopted in another history": {"replid", "another"},
		"adopted without a history":  {"replid", ""},
		"adopted in the future":      {"since", "999999999999999"},
		"adopted at no time":         {"since", "never"},
	} {
		t.Run(name, func(t *testing.T) {
			onEachLevel(t, func(t *testing.T, m *master, c Config) {
				since := itoa(m.time().UnixMilli())
				want := m.put(c, append([]string{"since", since, "wall", since, "how", "adopted", "junk", "x"}, changes...)...)
				m.sight(0, 0)
				target := m.now()
				target.Fleet = "f2"
				got := m.initialize(c, target, false, true)
				if changes != nil {
					wantVerdict(t, got, Present)
					m.holds(want)
					return
				}
				wantVerdict(t, got, Declared)
				m.holds(m.whole(c, "since", "0", "wall", "0", "fleet", "f2", "without", "1", "seen", since))
				m.noSighting()
			})
		})
	}
}

// Replaceable, by which Init asks, is what the script goes by.
func TestReplaceableIsWhatInitReplaces(t *testing.T) {
	onEachLevel(t, func(t *testing.T, m *master, c Config) {
		for _, how := range []string{HowAdopted, HowCreated, HowDeclared, HowRestarted, HowResynced, HowReset, HowForced, HowRevoked, ""} {
			for _, age := range []time.Duration{0, c.Quarantine() - 5*time.Second, c.Quarantine() + time.Millisecond, time.Hour} {
				for _, fleet := range []string{"", "f1"} {
					since := itoa(m.time().Add(-age).UnixMilli())
					m.put(c, "since", since, "wall", since, "how", how, "fleet", fleet)
					f := m.facts(m.dial(c))
					may := c.Replaceable(f, f.Marker.Clock.Received)
					got := m.initialize(c, m.now(), false, false)
					if want := (how == HowAdopted || how == HowCreated) && age < c.Quarantine(); may != want || (got.Verdict == Declared) != want {
						t.Errorf("%q for %v: Replaceable says %v, the script %v, want %v", how, age, may, got.Verdict, want)
					}
				}
			}
		}
	})
}

func TestReplaceableIsNothingThatHasNotAnswered(t *testing.T) {
	c := config(Standard)
	f := healthy(c, 1, 0)
	f.Marker.How = HowAdopted
	if !c.Replaceable(f, at(0)) {
		t.Fatal("a young adopted master is not replaceable")
	}
	for name, change := range map[string]func(f *Facts){
		"not connected":  func(f *Facts) { f.Connected = false },
		"an error":       func(f *Facts) { f.MarkerErr = errTest },
		"no answer":      func(f *Facts) { f.Marker = Marker{} },
		"conflict":       func(f *Facts) { f.Marker.Verdict = Conflict },
		"other settings": func(f *Facts) { f.Marker.MaxTTL = "1" },
		"no since":       func(f *Facts) { f.Marker.Since = "" },
	} {
		g := f
		if change(&g); c.Replaceable(g, at(0)) {
			t.Errorf("%s: it is replaceable", name)
		}
	}
	if c.Replaceable(f, at(c.Quarantine())) {
		t.Error("it votes, and is replaceable")
	}
}

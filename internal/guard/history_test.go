package guard

import (
	"testing"
	"time"
)

// A client without INFO writes no history. The first client that has INFO fills it in.
func TestDialFillsInWhatAMarkerLacksAndKeepsSince(t *testing.T) {
	type row struct{ field, kept, want string } // want: "+" the master's history, "" nothing
	onEachCase(t, map[string]row{
		"history":  {"replid", "declared", "+"},
		"database": {"db", "declared", "0"},
		"nothing":  {"junk", "adopted", ""},
	}, func(t *testing.T, m *master, test row) {
		c := config(Standard)
		for _, missing := range []string{"", "-"} {
			want := m.put(c, test.field, missing, "how", test.kept)
			wantVerdict(t, m.dial(c), Same)
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

// TestReplaceableIsWhatInitReplaces tests the age and the values of How.
func TestInitReplacesAMarkerThatWasGivenLatelyAndNoOther(t *testing.T) {
	for name, changes := range map[string][]string{
		"of this fleet":              nil,
		"another version":            {"v", "2"},
		"another MaxTTL":             {"maxttl", "30000"},
		"another number":             {"n", "3"},
		"another level":              {"level", "off"},
		"another database":           {"db", "1"},
		"adopted by another process": {"run", "another"},
		"adopted in another history": {"replid", "another"},
		"adopted in the future":      {"since", "999999999999999"},
		"adopted after a longer TTL": {"was", "120000"},
	} {
		t.Run(name, func(t *testing.T) {
			onEachLevel(t, func(t *testing.T, m *master, c Config) {
				since := itoa(m.time().UnixMilli())
				want := m.put(c, append([]string{"since", since, "wall", since, "how", "adopted", "junk", "x"}, changes...)...)
				m.sight(0, 0)
				got := m.initialize(c, m.now(), false)
				if changes != nil {
					wantVerdict(t, got, Present)
					m.holds(want)
					return
				}
				wantVerdict(t, got, Declared)
				m.holds(m.whole(c, "since", "0", "wall", "0", "seen", since))
				m.noSighting()
			})
		})
	}
}

// Replaceable, by which Init decides, agrees with the script.
func TestReplaceableIsWhatInitReplaces(t *testing.T) {
	onEachLevel(t, func(t *testing.T, m *master, c Config) {
		for _, how := range []string{HowAdopted, HowDeclared, HowRestarted, HowResynced, HowReset, HowForced, ""} {
			for _, age := range []time.Duration{0, c.Quarantine() - 5*time.Second, c.Quarantine() + time.Millisecond, time.Hour} {
				since := itoa(m.time().Add(-age).UnixMilli())
				m.put(c, "since", since, "wall", since, "how", how)
				f := m.facts(m.dial(c))
				may := c.Replaceable(f, f.Marker.Clock.Received)
				got := m.initialize(c, m.now(), false)
				if want := how == HowAdopted && age < c.Quarantine(); may != want || (got.Verdict == Declared) != want {
					t.Errorf("%q for %v: Replaceable says %v, the script %v, want %v", how, age, may, got.Verdict, want)
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
		"a longer TTL":   func(f *Facts) { f.Marker.Was = "120000" },
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

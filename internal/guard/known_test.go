package guard

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/internal/script"
)

// These tests show what happens to a master that has lost its marker if somebody remembers it, or
// if the marker comes back.

// known is the master, for a client that has seen a marker on it.
func (m *master) known() Target {
	t := m.now()
	t.Seen = "0"
	return t
}

// lookersOf are the scripts that a client sends to a master without a marker.
func lookersOf(c Config, t Target) map[*script.Script][]any {
	return map[*script.Script][]any{Dial: c.DialArgs(t), Adopt: c.AdoptArgs(t, Facts{Ours: true}, "")}
}

func TestClientThatKnowsAMarkerNotesItInTheSighting(t *testing.T) {
	onEach(t, func(t *testing.T, m *master) {
		c := config(Standard)
		for s := range lookersOf(c, m.now()) {
			m.do("DEL", Sighting)
			if got := m.script(s, lookersOf(c, m.now())[s]); got.Verdict != Missing || got.Known {
				t.Errorf("%s: nobody knows it: %+v", s.Name, got)
			}
			before := m.sighted()
			if got := m.script(s, lookersOf(c, m.known())[s]); got.Verdict != Missing || !got.Known {
				t.Errorf("%s, by who knows it: %+v", s.Name, got)
			}
			before["known"] = "1"
			if now := m.sighted(); !maps.Equal(now, before) {
				t.Errorf("%s: the sighting has become %v, want %v", s.Name, now, before)
			}
			for _, changes := range [][]string{nil, {"run", "another"}, {"replid", "another"}, {"since", "999999999999999"}, {"wall", ""}} {
				if len(changes) > 0 {
					m.do("HSET", Sighting, changes[0], changes[1])
				}
				if got := m.dial(c); got.Verdict != Missing || !got.Known {
					t.Errorf("by who does not know it, %v: %+v", changes, got)
				}
			}
		}
	})
}

// A sighting by a client whose clock is less than a second ahead stays as it is.
func TestASightingStaysWhereClocksDifferByLessThanASecond(t *testing.T) {
	onEach(t, func(t *testing.T, m *master) {
		c := config(Standard)
		for ahead, stays := range map[time.Duration]bool{0: true, 500 * time.Millisecond: true, 900 * time.Millisecond: true, 1500 * time.Millisecond: false} {
			m.do("DEL", Sighting)
			m.dial(c, ahead)
			before := m.sighted()
			got := m.dial(c)
			if got.Sighted > 100*time.Millisecond {
				t.Errorf("%v ahead: known for %v", ahead, got.Sighted)
			}
			if now := m.sighted(); maps.Equal(now, before) != stays {
				t.Errorf("%v ahead: the sighting was %v and is %v", ahead, before, now)
			}
		}
	})
}

// A declaration may be late: it is valid only for the sighting by which it was decided.
func TestALateDeclarationDoesNothing(t *testing.T) {
	onEachCase(t, map[string]func(m *master, c Config){
		"declared by another and emptied": func(m *master, c Config) { m.declare(c, m.now()); m.do("FLUSHALL") },
		"and seen so": func(m *master, c Config) {
			m.declare(c, m.now())
			m.do("FLUSHALL")
			time.Sleep(2 * time.Millisecond)
			m.dial(c)
		},
		"adopted and emptied of that": func(m *master, c Config) {
			m.sight(2*time.Second, 2*time.Second)
			wantVerdict(m.t, m.script(Adopt, c.AdoptArgs(m.now(), Facts{Ours: true}, "")), Adopted)
			m.do("DEL", Key)
		},
		"and seen so again": func(m *master, c Config) {
			m.sight(2*time.Second, 2*time.Second)
			wantVerdict(m.t, m.script(Adopt, c.AdoptArgs(m.now(), Facts{Ours: true}, "")), Adopted)
			m.do("DEL", Key)
			m.dial(c)
		},
		"sighted by who knows it":                     func(m *master, c Config) { m.script(Dial, c.DialArgs(m.known())) },
		"emptied and sighted by who knows it":         func(m *master, c Config) { m.do("FLUSHALL"); m.script(Dial, c.DialArgs(m.known())) },
		"another history, and sighted anew":           func(m *master, c Config) { m.newHistory(); m.dial(c) },
		"sighted by a client whose clock is far back": func(m *master, c Config) { m.dial(c, -time.Hour) },
	}, func(t *testing.T, m *master, change func(m *master, c Config)) {
		c := config(Standard)
		for s, args := range map[*script.Script]func(seen Fields) []any{
			Declare: func(seen Fields) []any { return c.DeclareArgs(m.now(), seen) },
			Init:    func(seen Fields) []any { return c.InitArgs(m.now(), seen, false, 0) },
		} {
			m.do("FLUSHALL")
			m.sight(time.Second/2, time.Second/2)
			decided := m.dial(c)
			wantVerdict(t, decided, Missing)
			change(m, c)
			before := m.sighted()
			got := m.script(s, args(decided.Fields))
			wantVerdict(t, got, Present)
			m.holds(nil)
			if now := m.sighted(); !maps.Equal(now, before) {
				t.Errorf("%s: the sighting was %v and is %v", s.Name, before, now)
			}
		}
	})
}

func TestAnAdoptionSaysThatAMarkerWasKnown(t *testing.T) {
	onEachLevel(t, func(t *testing.T, m *master, c Config) {
		for name, test := range map[string]struct {
			known   string // what the sighting says
			target  func() Target
			emptied bool
		}{
			"to nobody":             {"-", m.now, false},
			"to who adopts it":      {"-", m.known, true},
			"to who has sighted it": {"1", m.now, true},
		} {
			m.do("FLUSHALL")
			m.sight(2*time.Second, 2*time.Second, "known", test.known)
			got := m.script(Adopt, c.AdoptArgs(test.target(), Facts{Ours: true}, ""))
			if (got.How == HowEmptied) != test.emptied || !got.Written() {
				t.Errorf("known %s: %+v", name, got)
			}
			m.keepsSighting(got.Since)
			// Init would let it vote at once.
			if declared := m.initialize(c, m.now(), false).Verdict == Declared; declared == test.emptied {
				t.Errorf("known %s: declared by Init: %v", name, declared)
			}
		}
	})
}

// Init replaces only the marker that it has read, not one that was written since.
func TestInitDeclaresOnlyTheMarkerThatItHasRead(t *testing.T) {
	onEachLevel(t, func(t *testing.T, m *master, c Config) {
		since := m.time().UnixMilli()
		want := m.put(c, "since", itoa(since-5), "how", HowAdopted)
		for _, seen := range []Fields{{}, {Since: itoa(since - 6)}, {Since: "0"}} {
			wantVerdict(t, m.script(Init, c.InitArgs(m.now(), seen, false, 0)), Present)
		}
		m.holds(want)
		wantVerdict(t, m.script(Init, c.InitArgs(m.now(), Fields{Since: itoa(since - 5)}, false, 0)), Declared)
	})
}

// Nothing is written if the sighting cannot be deleted: it would later say that the marker was put
// back.
func TestNothingIsDeclaredWhereTheSightingMayNotBeTouched(t *testing.T) {
	srv := redistest.Start(t, 1, redistest.Config{ACL: []string{"user limited on >secret ~" + Key + " +@all"}}).Masters[0]
	m, limited := asUser(t, srv), asUser(t, srv)
	m.identify()
	limited.run, limited.replid = m.run, m.replid
	limited.do("AUTH", "limited", "secret")
	c := config(Standard)
	seen := m.asRead(c, m.now())
	for s, args := range map[*script.Script][]any{
		Declare: c.DeclareArgs(m.now(), seen), Init: c.InitArgs(m.now(), seen, true, 0), Dial: c.DialArgs(m.now()),
	} {
		if reply, err := limited.conn.Do("EVAL", s.EvalArgs(args)...); err == nil || !strings.Contains(err.Error(), "access") {
			t.Errorf("%s answers %q (%v)", s.Name, reply, err)
		}
	}
	m.holds(nil)
	want := m.put(c)
	wantVerdict(t, limited.dial(c), Same) // a marker is judged all the same
	m.holds(want)
}

// The data is lost, somebody sees that, and then the old marker is there again.
func TestAMarkerThatIsPutBackIsQuarantined(t *testing.T) {
	onEachLevel(t, func(t *testing.T, m *master, c Config) {
		for name, old := range map[string][]string{
			"declared":            nil,
			"adopted long before": {"since", "5000", "how", HowAdopted},
		} {
			m.do("FLUSHALL")
			m.put(c, old...)
			wantVerdict(t, m.dial(c), Same)
			m.do("FLUSHALL")
			m.sight(2*time.Second, 2*time.Second)
			wantVerdict(t, m.script(Adopt, c.AdoptArgs(m.now(), Facts{Ours: true}, "")), Adopted)
			kept := m.sighted()
			m.putBack(c, old...)
			then := m.time()
			got := m.dial(c)
			wantVerdict(t, got, Restarted)
			m.isNow(got, then)
			if got.How != HowRestored {
				t.Errorf("%s: how is %q", name, got.How)
			}
			if now := m.sighted(); !maps.Equal(now, kept) {
				t.Errorf("%s: the sighting was %v and is %v", name, kept, now)
			}
			again := m.dial(c)
			wantVerdict(t, again, Same)
			if again.Since != got.Since || again.How != HowRestored {
				t.Errorf("%s: at the next look it is %+v", name, again)
			}
		}
	})
	t.Run("before it was adopted", func(t *testing.T) {
		onEach(t, func(t *testing.T, m *master) {
			c := config(Standard)
			decided := m.dial(c)
			wantVerdict(t, decided, Missing)
			m.putBack(c)
			wantVerdict(t, m.script(Declare, c.DeclareArgs(m.now(), decided.Fields)), Present)
			m.holds(m.whole(c))
			if got := m.dial(c); got.Verdict != Restarted || got.How != HowRestored {
				t.Errorf("%+v", got)
			}
		})
	})
}

// putBack writes a marker as put does, and leaves the sighting.
func (m *master) putBack(c Config, changes ...string) {
	m.t.Helper()
	s := m.sighted()
	m.put(c, changes...)
	for name, value := range s {
		m.do("HSET", Sighting, name, value)
	}
}

// A sighting counts only if it is of this process and this data, and later than the marker.
func TestASightingOfAnotherProcessQuarantinesNoMarker(t *testing.T) {
	onEachCase(t, map[string][]string{
		"another process":     {"run", "another"},
		"another history":     {"replid", "another"},
		"before the marker":   {"since", "999"},
		"nothing of all that": {"since", "-", "run", "-", "replid", "-"},
	}, func(t *testing.T, m *master, changes []string) {
		c := config(Standard)
		want := m.put(c)
		m.sight(time.Minute, time.Minute, changes...)
		wantVerdict(t, m.dial(c), Same)
		m.holds(want)
	})
}

// The master's clock was ahead when it was found empty, and is right when the marker is put back.
func TestASightingInTheFutureIsLaterThanAMarkerThatWasPutBack(t *testing.T) {
	onEachLevel(t, func(t *testing.T, m *master, c Config) {
		m.put(c)
		ahead := itoa(m.time().Add(time.Minute).UnixMilli())
		m.do("HSET", Sighting, "run", m.run, "replid", m.replid, "since", ahead, "wall", "")
		then := m.time()
		got := m.dial(c)
		wantVerdict(t, got, Restarted)
		m.isNow(got, then)
		m.keepsSightingOf(got)
		wantVerdict(t, m.dial(c), Same)
	})
}

// Otherwise the marker would count as put back when that time comes, and locks would be lost.
func TestAResetMovesASightingInTheFutureToNow(t *testing.T) {
	onEachLevel(t, func(t *testing.T, m *master, c Config) {
		ahead := itoa(m.time().Add(time.Minute).UnixMilli())
		m.put(c, "since", ahead, "how", HowAdopted)
		m.do("HSET", Sighting, "run", m.run, "replid", m.replid, "since", ahead, "wall", "")
		got := m.dial(c)
		wantVerdict(t, got, Reset)
		m.keepsSightingOf(got)
		wantVerdict(t, m.dial(c), Same)
	})
}

// keepsSightingOf fails unless the sighting is as old as the marker.
func (m *master) keepsSightingOf(marker Marker) {
	m.t.Helper()
	if s := m.sighted(); s["since"] != marker.Since || s["wall"] != "" || s["run"] != m.run {
		m.t.Errorf("the sighting is %v, the marker %+v", s, marker)
	}
}

// A newcomer has adopted the master first, and its marker does not name the one before.
func TestClientThatKnewAnotherMarkerReportsTheMasterEmptied(t *testing.T) {
	onEachLevel(t, func(t *testing.T, m *master, c Config) {
		since := m.time().UnixMilli() - 500
		for name, test := range map[string]struct {
			how, seen string
			emptied   bool
		}{
			"an earlier one":       {HowAdopted, itoa(since - 1), true},
			"the same":             {HowAdopted, itoa(since), false},
			"none":                 {HowAdopted, "", false},
			"one before a restart": {HowRestarted, "0", false},
			"one before an Init":   {HowForced, "0", false},
			"a later one":          {HowAdopted, itoa(since + 1), true},
		} {
			want := m.put(c, "since", itoa(since), "how", test.how)
			knower := m.now()
			knower.Seen = test.seen
			if test.emptied {
				want["how"] = HowEmptied
			}
			got := m.script(Dial, c.DialArgs(knower))
			wantVerdict(t, got, Same)
			m.holds(want)
			if got.How != want["how"] {
				t.Errorf("%s: how is %q", name, got.How)
			}
			given := test.how == HowAdopted
			if declared := m.initialize(c, m.now(), false).Verdict == Declared; declared != (given && !test.emptied) {
				t.Errorf("%s: declared by Init: %v", name, declared)
			}
		}
	})
}

func TestFactsKeepTheMarkerThatWasSeenLast(t *testing.T) {
	var f Facts
	for _, step := range []struct {
		m    Marker
		want string
	}{
		{Marker{Verdict: Missing, Fields: Fields{Since: "5"}}, ""},
		{Marker{Verdict: Same, Fields: Fields{Since: "7"}}, "7"},
		{Marker{Verdict: Missing, Fields: Fields{Since: "8"}}, "7"},
		{Marker{Verdict: Present, Fields: Fields{Since: "9"}}, "7"},
		{Marker{Verdict: Reset, Fields: Fields{Since: "6"}}, "6"},
		{Marker{Verdict: Conflict, Fields: Fields{Since: "x"}}, "0"},
	} {
		f.Answer(step.m)
		if f.Seen != step.want {
			t.Errorf("after %v %s it is %q, want %q", step.m.Verdict, step.m.Since, f.Seen, step.want)
		}
	}
}

// Nobody has looked while the marker was gone, but this client has seen a later one.
func TestAClientCountsAMarkerThatWentBackFromItsOwnFirstLook(t *testing.T) {
	c := config(Standard)
	q := c.Quarantine()
	old, later := aged(at(0), 0, long), aged(at(0), 0, long)
	old.Since, later.How = "1700000000000", HowAdopted
	f := healthy(c, 1, 0)
	look := func(m Marker, when time.Duration) *AbstainError {
		m.Clock = aged(at(when), long, 0).Clock
		f.Answer(m)
		return c.Standings([]Facts{f}, at(when))[0].Why
	}
	_ = look(old, 0)
	if why := look(later, 0); why != nil {
		t.Fatal(why)
	}
	for _, when := range []time.Duration{time.Second, q / 2, time.Second + q - 1} {
		why := look(old, when)
		if why == nil || why.Cause != Quarantined || why.How != HowRestored || why.Left != time.Second+q-when {
			t.Errorf("after %v: %+v, want %v more", when, why, time.Second+q-when)
		}
		f.Age = f.Age.Earlier() // also on the next connection
	}
	if why := look(old, time.Second+q); why != nil {
		t.Errorf("after its quarantine: %v", why)
	}
	// An operator's declaration names the marker that it has replaced.
	declared := later
	declared.Since, declared.How, declared.Seen = "0", HowDeclared, later.Since
	_ = look(later, 3*q)
	if why := look(declared, 3*q); why != nil {
		t.Errorf("declared by an operator: %v", why)
	}
	declared.Seen = "5"
	_ = look(later, 3*q)
	if why := look(declared, 3*q); why == nil {
		t.Error("declared by what it was before")
	}
	// A marker of another process or history does not count as put back.
	_ = look(later, 3*q)
	old.Replid = "another"
	if why := look(old, 3*q); why != nil {
		t.Errorf("of another history: %v", why)
	}
}

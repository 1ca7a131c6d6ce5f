package guard

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/script"
	"github.com/redquorum/redquorum/internal/simmaster"
)

var parameter = regexp.MustCompile(`(KEYS|ARGV)\[\d+\]`)

// Callers of a script read only its head.
func TestEveryScriptStatesWhatItTakesAndReturns(t *testing.T) {
	for _, s := range append(slices.Clone(Scripts), Probe) {
		own, err := os.ReadFile(s.Name + ".lua")
		if err != nil {
			t.Fatal(err)
		}
		head, body := "", withMarker(string(own))
		for strings.HasPrefix(body, "-- ") {
			line, rest, _ := strings.Cut(body, "\n")
			head, body = head+line+"\n", rest
		}
		if stated, _, _ := strings.Cut(string(own), "-- include"); !strings.Contains(stated, "Returns ") {
			t.Errorf("%s: its head does not say what it returns", s.Name)
		}
		stated, used := parameter.FindAllString(head, -1), parameter.FindAllString(body, -1)
		slices.Sort(stated)
		slices.Sort(used)
		if stated, used = slices.Compact(stated), slices.Compact(used); !slices.Equal(stated, used) {
			t.Errorf("%s: its head states %v, its body uses %v", s.Name, stated, used)
		}
	}
}

func TestDialQuarantinesAnotherProcessAndAnotherHistory(t *testing.T) {
	// An empty history is one that is not known: TestDialFillsInWhatAMarkerLacksAndKeepsSince.
	for name, test := range map[string]struct{ field, value, how string }{
		"another process":   {"run", strings.Repeat("0", 40), HowRestarted},
		"an empty one":      {"run", "", HowRestarted},
		"another history":   {"replid", strings.Repeat("0", 40), HowResynced},
		"a shorter history": {"replid", "<", HowResynced},
	} {
		t.Run(name, func(t *testing.T) {
			onEachLevel(t, func(t *testing.T, m *master, c Config) {
				own, value := map[string]string{"run": m.run, "replid": m.replid}, test.value
				if value == "<" {
					value = m.replid[:39]
				}
				want := m.put(c, test.field, value, "since", "0")
				then := m.time()
				got := m.dial(c)
				wantVerdict(t, got, Restarted)
				m.isNow(got, then)
				maps.Copy(want, own)
				maps.Copy(want, map[string]string{"since": got.Since, "wall": got.Wall, "how": test.how})
				m.holds(want)
				if got.How != test.how || got.Run != m.run || got.Replid != m.replid {
					t.Errorf("it answers %+v", got)
				}
				if again := m.dial(c); again.Verdict != Same || again.Since != got.Since {
					t.Errorf("a second dial answers %+v", again)
				}
			})
		})
	}
}

// With the handshake the client does not know the run_id yet.
func TestDialFindsOutItselfWhoServesTheConnection(t *testing.T) {
	onEachLevel(t, func(t *testing.T, m *master, c Config) {
		dial := func() Marker {
			target := m.now()
			target.Run = ""
			return m.script(Dial, c.DialArgs(target))
		}
		want := m.put(c, "since", "1")
		got := dial()
		wantVerdict(t, got, Same)
		m.holds(want)
		if got.Run != m.run {
			t.Errorf("run is %q, want %q", got.Run, m.run)
		}
		m.put(c, "run", strings.Repeat("f", 40), "since", "1")
		then := m.time()
		got = dial()
		wantVerdict(t, got, Restarted)
		m.isNow(got, then)
		if got.Run != m.run || m.marker()["run"] != m.run {
			t.Errorf("run is %q, and %q stands there, want %q", got.Run, m.marker()["run"], m.run)
		}
	})
}

func TestDialSetsASinceThatIsNoPastInstantToNow(t *testing.T) {
	onEachCase(t, map[string]string{
		"an hour ahead": "+1h", "none": "-", "a word": "never", "a newline": "1000\n",
	}, func(t *testing.T, m *master, since string) {
		c := config(Strict)
		then := m.time()
		if since == "+1h" {
			since = itoa(then.Add(time.Hour).UnixMilli())
		}
		want := m.put(c, "since", since)
		got := m.dial(c)
		wantVerdict(t, got, Reset)
		m.isNow(got, then)
		want["since"], want["wall"], want["how"] = got.Since, got.Wall, HowReset
		m.holds(want)
	})
}

func TestDialNamesAnotherFleetsSettingsAndWritesNothing(t *testing.T) {
	type row struct{ field, value, shown string }
	onEachCase(t, map[string]row{
		"MaxTTL":    {"maxttl", "30000", "30000"},
		"masters":   {"n", "3", "3"},
		"level":     {"level", "strict", "strict"},
		"version":   {"v", "2", "2"},
		"database":  {"db", "1", "1"},
		"no MaxTTL": {"maxttl", "-", ""},
		"a move":    {"to", "another", "another"},
		"garbage":   {"n", "\x00\xff\r\n" + strings.Repeat("y", 100), "\x00\xff\r\n" + strings.Repeat("y", 60)},
	}, func(t *testing.T, m *master, test row) {
		c := config(Standard)
		// Whatever the other rules would write, nothing is written.
		for _, others := range [][]string{
			{}, {"run", "another"}, {"since", "999999999999999"}, {"run", "-", "since", "-"}, {"replid", "another"}, {"replid", ""},
		} {
			want := m.put(c, append(slices.Clone(others), test.field, test.value)...)
			got := m.dial(c)
			wantVerdict(t, got, Conflict)
			shown := map[string]string{"maxttl": got.MaxTTL, "n": got.Masters, "level": got.LevelIs, "v": got.Version, "db": got.DB, "to": got.To}
			if shown[test.field] != test.shown {
				t.Errorf("it shows %q, want %q", shown[test.field], test.shown)
			}
			m.holds(want)
		}
	})
}

// TestTheSkewIsAcceptedUpToItsLimitAndNotAMicrosecondMore tests the limit.
func TestDialStrictRefusesAClockThatIsOffBeforeAnythingElse(t *testing.T) {
	const wait = time.Hour
	onEachCase(t, map[string]time.Duration{"behind": time.Minute, "ahead": -wait - time.Second}, func(t *testing.T, m *master, ours time.Duration) {
		c := config(Strict)
		sent := m.time().Add(ours)
		states := map[string]func() map[string]string{
			"no marker":       func() map[string]string { return nil },
			"another process": func() map[string]string { return m.put(c, "run", "another") },
			"another fleet":   func() map[string]string { return m.put(c, "n", "3") },
		}
		for state, put := range states {
			m.do("DEL", Key)
			want := put()
			target := Target{Run: m.run, Sent: sent, Wait: wait}
			for s, args := range map[*script.Script][]any{Dial: c.DialArgs(target), Init: c.InitArgs(target, Fields{}, true, 0), Adopt: c.AdoptArgs(target, Facts{Ours: true}, "")} {
				if got := m.script(s, args); got.Verdict != Skewed {
					t.Fatalf("%s, %s: %v", s.Name, state, got.Verdict)
				}
				m.holds(want)
			}
		}
	})
}

// In a bubble no time passes between the look at the clock and the script.
func TestTheSkewIsAcceptedUpToItsLimitAndNotAMicrosecondMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, err := simmaster.New(simmaster.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer sim.Close()
		conn, err := sim.Dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		m := ready(t, redis.NewConn(conn, 0, 0))
		for _, ttl := range []time.Duration{time.Second, time.Minute} {
			const us, wait = time.Microsecond, 3 * time.Second
			c := config(Strict)
			c.MaxTTL = ttl
			s := Skew(ttl)
			m.put(c)
			for ahead, want := range map[time.Duration]Verdict{
				s: Same, s + us: Skewed, s - us: Same, 0: Same, -wait - s: Same, -wait - s - us: Skewed, -wait - s + us: Same,
			} {
				if got := m.script(Dial, c.DialArgs(Target{Run: m.run, Sent: time.Now().Add(ahead), Wait: wait})); got.Verdict != want {
					t.Errorf("MaxTTL %v, our clock %v ahead: %v, want %v", ttl, ahead, got.Verdict, want)
				}
			}
		}
		_ = conn.Close()
	})
}

func TestAMarkerLosesAnExpiryThatSomebodyGaveIt(t *testing.T) {
	onEach(t, func(t *testing.T, m *master) {
		c := config(Standard)
		want := m.put(c)
		m.do("PEXPIRE", Key, 60_000)
		wantVerdict(t, m.dial(c), Same)
		m.holds(want)

		m.do("PEXPIRE", Key, 60_000)
		m.initialize(c, m.now(), true)
		if ttl := m.do("PTTL", Key); ttl != int64(-1) {
			t.Errorf("after a forced init it expires in %v ms", ttl)
		}
	})
}

func TestAKeyOfAnotherTypeIsNeverTouched(t *testing.T) {
	onEach(t, func(t *testing.T, m *master) {
		m.do("SET", Key, "redis", "PX", 100_000)
		for _, level := range []Level{Standard, Strict} {
			c := config(level)
			for what, got := range map[string]Marker{
				"dial":        m.dial(c),
				"init":        m.initialize(c, m.now(), false),
				"forced init": m.initialize(c, m.now(), true),
			} {
				if got.Verdict != WrongType || got.Type != "string" {
					t.Errorf("%s: %v, type %q", what, got.Verdict, got.Type)
				}
			}
			wantVerdict(t, m.declare(c, m.now()), Present)
			wantVerdict(t, m.script(Adopt, c.AdoptArgs(m.now(), Facts{Ours: true}, "")), Present)
		}
		if got, err := redis.String(m.do("GET", Key), nil); got != "redis" {
			t.Errorf("it has become %q (%v)", got, err)
		}
		if ttl, _ := redis.Int64(m.do("PTTL", Key), nil); ttl < 0 {
			t.Errorf("its expiry is gone: %d", ttl)
		}
		// The check that ends a flush fails there, and so no vote counts.
		if text := m.check(); !strings.Contains(text, "WRONGTYPE") {
			t.Errorf("the check answers %q", text)
		}
	})
}

func TestInitDeclaresAndRefusesWhereAMarkerIs(t *testing.T) {
	onEachLevel(t, func(t *testing.T, m *master, c Config) {
		initialise := func(force bool) Marker { return m.initialize(c, m.now(), force) }
		got := initialise(false)
		wantVerdict(t, got, Declared)
		fresh := m.whole(c, "since", "0", "wall", "0")
		m.holds(fresh)
		wantVerdict(t, initialise(false), Present)
		m.holds(fresh)

		// A marker of another fleet, with a field that does not belong there.
		old := m.put(c, "n", "3", "run", "another", "junk", "x")
		m.sight(time.Minute, time.Minute)
		got = initialise(false)
		wantVerdict(t, got, Present)
		if got.Masters != "3" || got.Run != "another" {
			t.Errorf("it shows %+v", got)
		}
		m.holds(old)
		then := m.time()
		got = initialise(true)
		wantVerdict(t, got, Forced)
		m.isNow(got, then)
		fresh["since"], fresh["wall"], fresh["how"] = got.Since, got.Wall, "forced"
		m.holds(fresh)
		m.noSighting()
	})
}

func TestTheCheckHoldsUntilTheMarkerChanges(t *testing.T) {
	onEachCase(t, map[string]func(m *master){
		"flushed":            func(m *master) { m.do("FLUSHALL") },
		"since":              func(m *master) { m.do("HSET", Key, "since", "1001") },
		"run":                func(m *master) { m.do("HSET", Key, "run", "another") },
		"replid":             func(m *master) { m.do("HSET", Key, "replid", strings.Repeat("0", 40)) },
		"another's history":  func(m *master) { m.newHistory() },
		"database":           func(m *master) { m.do("HSET", Key, "db", "1") },
		"since is gone":      func(m *master) { m.do("HDEL", Key, "since") },
		"replid is gone":     func(m *master) { m.do("HDEL", Key, "replid") },
		"database is gone":   func(m *master) { m.do("HDEL", Key, "db") },
		"of another type":    func(m *master) { m.do("SET", Key, "x") },
		"written by another": func(m *master) { m.initialize(config(Standard), m.now(), true) },
	}, func(t *testing.T, m *master, change func(m *master)) {
		c := config(Standard)
		m.put(c)
		marker := m.dial(c)
		if got, want := m.check(), mark(m.run, "1000", m.replid, "0"); got != want || marker.Mark() != want {
			t.Fatalf("nothing changed, and the check answers %q, want %q as %q", got, want, marker.Mark())
		}
		m.do("HSET", Key, "wall", "5", "how", "forced") // the check does not read these
		if got := m.check(); got != marker.Mark() {
			t.Errorf("of other fields, the check answers %q, want %q", got, marker.Mark())
		}
		change(m)
		if got := m.check(); got == marker.Mark() {
			t.Errorf("the check answers %q as before", got)
		}
	})
}

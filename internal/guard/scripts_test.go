package guard

import (
	"crypto/sha1"
	"encoding/hex"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/simmaster"
)

var parameter = regexp.MustCompile(`(KEYS|ARGV)\[\d+\]`)

// Whoever calls a script reads its head alone.
func TestEveryScriptStatesWhatItTakesAndReturns(t *testing.T) {
	files, err := filepath.Glob("*.lua")
	if err != nil || len(files) != len(Scripts) {
		t.Fatalf("%d files (%v), %d scripts", len(files), err, len(Scripts))
	}
	for _, s := range Scripts {
		sum := sha1.Sum([]byte(s.Source))
		if s.SHA != hex.EncodeToString(sum[:]) {
			t.Errorf("%s: SHA %s", s.Name, s.SHA)
		}
		head, body := "", s.Source
		for strings.HasPrefix(body, "-- ") {
			line, rest, _ := strings.Cut(body, "\n")
			head, body = head+line+"\n", rest
		}
		if !strings.Contains(head, "Returns ") {
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

func TestDialStandardWritesNothingWhereNoMarkerIs(t *testing.T) {
	onEach(t, func(t *testing.T, m *master) {
		before := m.time()
		got := m.dial(config(Standard))
		wantVerdict(t, got, Missing)
		if got.Clock.Time.Before(before) || got.Clock.Time.After(m.time()) {
			t.Errorf("it says it is %v", got.Clock.Time)
		}
		if n := m.do("DBSIZE"); n != int64(0) {
			t.Errorf("%v keys were written", n)
		}
	})
}

func TestDialStrictStartsAQuarantineWhereNoMarkerIs(t *testing.T) {
	onEach(t, func(t *testing.T, m *master) {
		then := m.time()
		got := m.dial(config(Strict))
		wantVerdict(t, got, Created)
		m.isNow(got, then)
		m.holds(map[string]string{"v": "1", "run": m.run, "since": got.Since, "maxttl": "60000", "n": "5", "level": "strict"})
		again := m.dial(config(Strict))
		wantVerdict(t, again, Same)
		if again.Since != got.Since {
			t.Errorf("a second dial moved since from %s to %s", got.Since, again.Since)
		}
	})
}

func TestDialReturnsTheAgeOfTheSameProcess(t *testing.T) {
	for _, level := range []Level{Standard, Strict} {
		t.Run(level.String(), func(t *testing.T) {
			onEach(t, func(t *testing.T, m *master) {
				c := config(level)
				then := m.time().Add(-time.Hour).Truncate(time.Millisecond)
				want := m.put(c, "since", itoa(then.UnixMilli()))
				got := m.dial(c)
				wantVerdict(t, got, Same)
				m.holds(want)
				age, ok := got.Age(got.Clock.Received)
				if !ok || age < time.Hour || age > m.time().Sub(then) {
					t.Errorf("the age is %v (%v), want an hour", age, ok)
				}
				if !got.matches(c) || got.Run != m.run {
					t.Errorf("what it answers is not the marker: %+v", got)
				}
			})
		})
	}
}

func TestDialQuarantinesAnotherProcess(t *testing.T) {
	for name, run := range map[string]string{
		"another": strings.Repeat("0", 40), "a longer one": "+", "an empty one": "", "none": "-", "a long one": strings.Repeat("x", 1000),
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, m *master) {
				if run == "+" {
					run = m.run + "0"
				}
				c := config(Standard)
				want := m.put(c, "run", run, "since", "0")
				then := m.time()
				got := m.dial(c)
				wantVerdict(t, got, Restarted)
				m.isNow(got, then)
				want["run"], want["since"] = m.run, got.Since
				m.holds(want)
			})
		})
	}
}

func TestDialSetsASinceThatIsNoPastInstantToNow(t *testing.T) {
	for name, since := range map[string]string{
		"an hour ahead": "+1h", "a millisecond ahead of what can be": "999999999999999", "none": "-", "empty": "", "a word": "never",
		"negative": "-5", "a fraction": "1.5", "an exponent": "1e3", "hexadecimal": "0x10", "not a number": "nan", "infinite": "inf",
		"spaces": " 1000", "a newline": "1000\n", "too long": "0000000000001000", "a zero byte": "1\x000",
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, m *master) {
				c := config(Strict)
				then := m.time()
				if since == "+1h" {
					since = itoa(then.Add(time.Hour).UnixMilli())
				}
				want := m.put(c, "since", since)
				got := m.dial(c)
				wantVerdict(t, got, Reset)
				m.isNow(got, then)
				want["since"] = got.Since
				m.holds(want)
			})
		})
	}
}

func TestDialNamesAnotherFleetsSettingsAndWritesNothing(t *testing.T) {
	for name, test := range map[string]struct{ field, value, shown string }{
		"MaxTTL":         {"maxttl", "30000", "30000"},
		"MaxTTL 60000.0": {"maxttl", "60000.0", "60000.0"},
		"masters":        {"n", "3", "3"},
		"level":          {"level", "strict", "strict"},
		"version":        {"v", "2", "2"},
		"no MaxTTL":      {"maxttl", "-", ""},
		"no masters":     {"n", "-", ""},
		"no level":       {"level", "-", ""},
		"no version":     {"v", "-", ""},
		"garbage":        {"n", "\x00\xff\r\n" + strings.Repeat("y", 100), "\x00\xff\r\n" + strings.Repeat("y", 60)},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, m *master) {
				c := config(Standard)
				// Whatever the other rules would write, nothing is written.
				for _, others := range [][]string{{}, {"run", "another"}, {"since", "999999999999999"}, {"run", "-", "since", "-"}} {
					want := m.put(c, append(others, test.field, test.value)...)
					got := m.dial(c)
					wantVerdict(t, got, Conflict)
					shown := map[string]string{"maxttl": got.MaxTTL, "n": got.Masters, "level": got.LevelIs, "v": got.Version}
					if shown[test.field] != test.shown {
						t.Errorf("it shows %q, want %q", shown[test.field], test.shown)
					}
					m.holds(want)
				}
			})
		})
	}
}

func TestDialStrictRefusesAClockThatIsOffBeforeAnythingElse(t *testing.T) {
	const wait = time.Hour
	for name, test := range map[string]struct {
		ahead time.Duration // our clock, of the master's
		off   bool
	}{
		"equal":                       {0, false},
		"a minute behind":             {time.Minute, true},
		"an hour behind":              {time.Hour, true},
		"ahead, or the reply is late": {-20 * time.Minute, false},
		"ahead":                       {-wait - time.Second, true},
		"two hours ahead":             {-2 * time.Hour, true},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, m *master) {
				c := config(Strict)
				sent := m.time().Add(test.ahead)
				states := map[string]func() map[string]string{
					"no marker":       func() map[string]string { return nil },
					"another process": func() map[string]string { return m.put(c, "run", "another") },
					"another fleet":   func() map[string]string { return m.put(c, "n", "3") },
				}
				for state, put := range states {
					m.do("DEL", Key)
					want := put()
					for _, s := range []struct {
						name string
						args []any
					}{{"dial", c.DialArgs(m.run, sent, wait)}, {"init", c.InitArgs(m.run, sent, wait, true, "")}} {
						of := Dial
						if s.name == "init" {
							of = Init
						}
						got := m.script(of, s.args)
						if (got.Verdict == Skewed) != test.off {
							t.Fatalf("%s, %s: %v", s.name, state, got.Verdict)
						}
						if !test.off {
							break
						}
						if len(want) == 0 {
							want = nil
						}
						m.unchanged(want)
					}
				}
			})
		})
	}
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
				if got := m.script(Dial, c.DialArgs(m.run, time.Now().Add(ahead), wait)); got.Verdict != want {
					t.Errorf("MaxTTL %v, our clock %v ahead: %v, want %v", ttl, ahead, got.Verdict, want)
				}
			}
		}
		_ = conn.Close()
	})
}

// unchanged is holds for a marker that may be missing.
func (m *master) unchanged(want map[string]string) {
	m.t.Helper()
	if got := m.marker(); !maps.Equal(got, want) {
		m.t.Errorf("the marker is %v, want %v", got, want)
	}
}

func TestStandardDoesNotCompareClocks(t *testing.T) {
	onEach(t, func(t *testing.T, m *master) {
		m.put(config(Standard))
		wantVerdict(t, m.dial(config(Standard), 24*time.Hour), Same)
	})
}

// Strict without the client's clock must not pass for an even one.
func TestStrictWithoutAClockIsAnError(t *testing.T) {
	onEach(t, func(t *testing.T, m *master) {
		args := append(config(Strict).fleet(m.run), "", "", "", "1")
		for _, s := range Scripts[:1] {
			m.replyError("EVAL", s.EvalArgs(s.Args(nil, []any{Key}, args...))...)
		}
		m.replyError("EVAL", Init.EvalArgs(Init.Args(nil, []any{Key}, args...))...)
		m.unchanged(nil)
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
		m.script(Init, c.InitArgs(m.run, m.time(), 0, true, ""))
		if ttl := m.do("PTTL", Key); ttl != int64(-1) {
			t.Errorf("after a forced init it expires in %v ms", ttl)
		}
	})
}

var otherTypes = map[string][]any{
	"string": {"SET", Key, "redis"},
	"list":   {"RPUSH", Key, "x"},
	"set":    {"SADD", Key, "x"},
	"zset":   {"ZADD", Key, 1, "x"},
	"stream": {"XADD", Key, "1-1", "f", "v"},
}

func TestAKeyOfAnotherTypeIsNeverTouched(t *testing.T) {
	for kind, command := range otherTypes {
		t.Run(kind, func(t *testing.T) {
			onEach(t, func(t *testing.T, m *master) {
				m.do(command[0].(string), command[1:]...)
				m.do("PEXPIRE", Key, 100_000)
				for _, level := range []Level{Standard, Strict} {
					c := config(level)
					for what, got := range map[string]Marker{
						"dial":        m.dial(c),
						"init":        m.script(Init, c.InitArgs(m.run, m.time(), time.Minute, false, "")),
						"forced init": m.script(Init, c.InitArgs(m.run, m.time(), time.Minute, true, "")),
					} {
						if got.Verdict != WrongType || got.Type != kind {
							t.Errorf("%s: %v, type %q", what, got.Verdict, got.Type)
						}
					}
					wantVerdict(t, m.script(Declare, c.DeclareArgs(m.run)), Present)
					wantVerdict(t, m.script(Adopt, c.AdoptArgs(m.run)), Present)
				}
				if got := m.do("TYPE", Key); got != kind {
					t.Errorf("it has become a %v", got)
				}
				if ttl, _ := redis.Int64(m.do("PTTL", Key), nil); ttl < 0 {
					t.Errorf("its expiry is gone: %d", ttl)
				}
				// The check that ends a flush fails there, and so no vote counts.
				command, args := Check()
				if text := m.replyError(command, args...); !strings.HasPrefix(text, "WRONGTYPE") {
					t.Errorf("the check answers %q", text)
				}
			})
		})
	}
}

func TestDeclareAndAdoptActOnlyWhereNoMarkerIs(t *testing.T) {
	onEach(t, func(t *testing.T, m *master) {
		c := config(Standard)
		got := m.script(Declare, c.DeclareArgs(m.run))
		wantVerdict(t, got, Declared)
		declared := map[string]string{"v": "1", "run": m.run, "since": "0", "maxttl": "60000", "n": "5", "level": "standard"}
		m.holds(declared)
		if age, ok := got.Age(got.Clock.Received); !ok || age < c.Quarantine() {
			t.Errorf("a declared master has the age %v (%v)", age, ok)
		}
		wantVerdict(t, m.script(Declare, c.DeclareArgs("another")), Present)
		wantVerdict(t, m.script(Adopt, c.AdoptArgs("another")), Present)
		m.holds(declared)
		wantVerdict(t, m.dial(c), Same)

		m.do("DEL", Key)
		then := m.time()
		got = m.script(Adopt, c.AdoptArgs(m.run))
		wantVerdict(t, got, Adopted)
		m.isNow(got, then)
		declared["since"] = got.Since
		m.holds(declared)
		wantVerdict(t, m.script(Declare, c.DeclareArgs(m.run)), Present)
		m.holds(declared)
	})
}

func TestInitDeclaresAndRefusesWhereAMarkerIs(t *testing.T) {
	for _, level := range []Level{Standard, Strict} {
		t.Run(level.String(), func(t *testing.T) {
			onEach(t, func(t *testing.T, m *master) {
				c := config(level)
				initialise := func(force bool) Marker {
					return m.script(Init, c.InitArgs(m.run, m.time(), time.Minute, force, ""))
				}
				wantVerdict(t, initialise(false), Declared)
				fresh := map[string]string{"v": "1", "run": m.run, "since": "0", "maxttl": "60000", "n": "5", "level": level.String()}
				m.holds(fresh)
				wantVerdict(t, initialise(false), Present)
				m.holds(fresh)

				// Of another fleet, and with what does not belong there.
				old := m.put(c, "n", "3", "run", "another", "junk", "x")
				got := initialise(false)
				wantVerdict(t, got, Present)
				if got.Masters != "3" || got.Run != "another" {
					t.Errorf("it shows %+v", got)
				}
				m.holds(old)
				then := m.time()
				got = initialise(true)
				wantVerdict(t, got, Forced)
				m.isNow(got, then)
				fresh["since"] = got.Since
				m.holds(fresh)
			})
		})
	}
	t.Run("forced where none is", func(t *testing.T) {
		onEach(t, func(t *testing.T, m *master) {
			c := config(Standard)
			then := m.time()
			got := m.script(Init, c.InitArgs(m.run, then, 0, true, ""))
			wantVerdict(t, got, Forced)
			m.isNow(got, then)
		})
	})
}

func TestTheCheckHoldsUntilTheMarkerChanges(t *testing.T) {
	command, args := Check()
	for name, change := range map[string]func(m *master){
		"flushed":         func(m *master) { m.do("FLUSHALL") },
		"since":           func(m *master) { m.do("HSET", Key, "since", "1001") },
		"run":             func(m *master) { m.do("HSET", Key, "run", "another") },
		"since is gone":   func(m *master) { m.do("HDEL", Key, "since") },
		"of another type": func(m *master) { m.do("SET", Key, "x") },
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, m *master) {
				c := config(Standard)
				m.put(c)
				marker := m.dial(c)
				if reply := m.do(command, args...); !marker.Holds(reply) {
					t.Fatalf("nothing changed, and %q does not hold", reply)
				}
				change(m)
				if reply, _ := m.conn.Do(command, args...); marker.Holds(reply) {
					t.Errorf("%q holds", reply)
				}
			})
		})
	}
}

package guard

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/redistest"
)

// keys is all that a look could change: what is at the marker and the sighting, and whether they
// expire.
func (m *master) keys() map[string]string {
	m.t.Helper()
	found := map[string]string{}
	for _, key := range []string{Key, Sighting} {
		kind, err := redis.String(m.do("TYPE", key), nil)
		if err != nil {
			m.t.Fatal(err)
		}
		found[key] = kind
		if kind == "hash" {
			fields, err := redis.StringMap(m.do("HGETALL", key), nil)
			if err != nil {
				m.t.Fatal(err)
			}
			for name, value := range fields {
				found[key+" "+name] = value
			}
		}
		left, err := redis.Int64(m.do("PTTL", key), nil)
		if err != nil {
			m.t.Fatal(err)
		}
		found[key+" expires"] = fmt.Sprint(left > 0)
	}
	return found
}

// lookOnly is a client that only looks, and gets the reply at once.
func (m *master) lookOnly(c Config, ahead time.Duration) Marker {
	m.t.Helper()
	return m.script(Dial, c.LookArgs(Target{Run: m.run, Sent: m.time().Add(ahead), Wait: time.Second}))
}

// answersAlike compares a look with what the script has answered a client soon after.
func (m *master) answersAlike(looked, dialled Marker, of string) {
	m.t.Helper()
	if dialled.Verdict == Restarted || dialled.Verdict == Reset {
		for name, texts := range map[string][2]*string{"since": {&looked.Since, &dialled.Since}, "wall": {&looked.Wall, &dialled.Wall}} {
			earlier, ok := instant(*texts[0])
			if later, ok2 := instant(*texts[1]); !ok || !ok2 || later.Sub(earlier) < 0 || later.Sub(earlier) > 30*time.Second {
				m.t.Errorf("%s: %s is %s, want about %s", of, name, *texts[0], *texts[1])
			}
			*texts[0], *texts[1] = "", ""
		}
	}
	if looked.Verdict == Skewed { // a client is not shown the marker
		looked.Fields = Fields{}
	}
	looked.Clock, dialled.Clock, looked.Sighted, dialled.Sighted = drift.Reading{}, drift.Reading{}, 0, 0
	if looked != dialled {
		m.t.Errorf("%s: the look says %+v, the script %+v", of, looked, dialled)
	}
}

func TestALookAnswersWhatTheDialScriptWouldWriteAndWritesNothing(t *testing.T) {
	onEach(t, func(t *testing.T, m *master) {
		future := itoa(m.time().Add(time.Hour).UnixMilli())
		long := strings.Repeat("x", 100)
		look := func(c Config, ahead time.Duration, of string) {
			t.Helper()
			before := m.keys()
			looked := m.lookOnly(c, ahead)
			if after := m.keys(); !maps.Equal(before, after) {
				t.Errorf("%v, %s: before the look %q, after it %q", c.Level, of, before, after)
			}
			dialled := m.script(Dial, c.DialArgs(Target{Run: m.run, Sent: m.time().Add(ahead), Wait: time.Second}))
			m.answersAlike(looked, dialled, c.Level.String()+" "+of)
		}
		for _, changes := range [][]string{
			{}, {"run", "another"}, {"run", "-"}, {"run", long},
			{"since", "0"}, {"since", "-"}, {"since", "yesterday"}, {"since", "+1"}, {"since", "-1"}, {"since", " 1"}, {"since", future}, {"since", "1234567890123456"},
			{"was", "120000"}, {"was", "120000", "run", "another"},
			{"replid", "another"}, {"replid", ""}, {"replid", "-"}, {"replid", "another", "run", "another"}, {"replid", "another", "since", future}, {"replid", long},
			{"wall", "-"}, {"wall", future}, {"how", "-"}, {"how", "adopted"},
			{"db", "1"}, {"db", "-"}, {"to", "f2"},
			{"v", "2"}, {"v", "-"}, {"n", "3"}, {"n", "05"}, {"n", "-"}, {"maxttl", "1000"}, {"maxttl", "060000"}, {"maxttl", "-"},
			{"level", "standard"}, {"level", "strict"}, {"level", "off"}, {"level", long}, {"more", "of it"},
		} {
			for _, level := range []Level{Standard, Strict} {
				for _, ahead := range []time.Duration{0, -time.Minute, time.Minute} {
					m.put(config(level), changes...)
					look(config(level), ahead, strings.Join(changes, "="))
				}
			}
		}
		for _, level := range []Level{Standard, Strict} {
			m.put(config(level), "run", "another")
			m.do("HSET", Sighting, "run", m.run, "replid", m.replid, "since", future)
			look(config(level), 0, "a sighting in the future")
			m.put(config(level))
			m.do("PEXPIRE", Key, 3_600_000)
			look(config(level), 0, "an expiry")
			for _, write := range [][]any{{"SET", Key, "text"}, {"ZADD", Key, 1, "m"}, {"HSET", Key, "other", "field"}} {
				m.do("DEL", Key, Sighting)
				m.do(write[0].(string), write[1:]...)
				look(config(level), 0, write[0].(string))
			}
		}
		m.do("DEL", Key, Sighting)
		looked := m.lookOnly(config(Standard), 0) // which notes that
		wantVerdict(t, looked, Missing)
		m.holds(nil)
		noted := m.keys()
		m.answersAlike(looked, m.dial(config(Standard)), "no marker")
		if after := m.keys(); !maps.Equal(noted, after) {
			t.Errorf("the look has noted %q, the client %q", noted, after)
		}
	})
}

// A user who may not read INFO is shown the settings of the fleet all the same.
func TestALookShowsTheMarkerWhereNobodyTellsTheRunID(t *testing.T) {
	t.Parallel()
	m := asUser(t, redistest.Start(t, 1, redistest.Config{ACL: []string{"user blind on >secret ~* +@all -info"}, Username: "blind", Password: "secret"}).Masters[0])
	c := config(Strict)
	for _, args := range [][]any{c.LookArgs(m.now()), c.DialArgs(m.now())} {
		if reply, err := m.conn.Do("EVAL", Dial.EvalArgs(args)...); err == nil || !strings.Contains(err.Error(), "INFO does not tell") {
			t.Errorf("without a marker it answers %q, %v", reply, err)
		}
	}
	m.holds(nil)
	want := m.put(c)
	if got := m.script(Dial, config(Standard).LookArgs(m.now())); got.Verdict != Conflict || got.LevelIs != "strict" {
		t.Errorf("%+v", got)
	}
	m.holds(want)
	if _, err := m.conn.Do("EVAL", Dial.EvalArgs(c.DialArgs(m.now()))...); err == nil {
		t.Error("a client may judge it")
	}
	if n := m.do("EXISTS", Sighting); n != int64(0) {
		t.Error("it is sighted")
	}
}

// fieldsOf are those of a marker of this fleet.
func fieldsOf(c Config) Fields {
	return Fields{Version: Version, Run: "run", Since: "5", MaxTTL: millis(c.MaxTTL), Masters: itoa(int64(c.Masters)), LevelIs: c.Level.String()}
}

func TestAMarkerNamesItsSettings(t *testing.T) {
	t.Parallel()
	for _, level := range []Level{Standard, Strict} {
		c := config(level)
		s := fieldsOf(c)
		if got, ok := s.Config(); !ok || got != c {
			t.Errorf("%+v names %+v, %v", s, got, ok)
		}
		if want := "5 masters, " + level.String() + ", longest TTL 1m0s"; c.String() != want {
			t.Errorf("%q, want %q", c, want)
		}
	}
	fine := config(Standard)
	for name, change := range map[string]func(*Fields){
		"version": func(s *Fields) { s.Version = "2" }, "level": func(s *Fields) { s.LevelIs = "off" }, "no level": func(s *Fields) { s.LevelIs = "" },
		"TTL": func(s *Fields) { s.MaxTTL = "1" }, "long TTL": func(s *Fields) { s.MaxTTL = "9223372036854775807" }, "no TTL": func(s *Fields) { s.MaxTTL = "x" },
		"leading zero": func(s *Fields) { s.MaxTTL = "060000" }, "number": func(s *Fields) { s.Masters = "0" }, "no number": func(s *Fields) { s.Masters = "" },
	} {
		s := fieldsOf(fine)
		change(&s)
		if c, ok := s.Config(); ok || c != (Config{}) {
			t.Errorf("%s: %+v names %+v", name, s, c)
		}
		if said := s.Settings(); strings.ContainsAny(said, "\r\n\x1b") {
			t.Errorf("%s: %q", name, said)
		}
	}
}

package guard

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/drift"
)

// stored reads what is at a master, as those do who write nothing.
func (m *master) stored() Stored {
	m.t.Helper()
	command, args := ReadStored()
	reply, err := m.conn.Do(command, args...)
	var refused redis.Error
	if err != nil && !errors.As(err, &refused) {
		m.t.Fatal(err)
	}
	s, _ := ParseStored(reply)
	if s.Type, err = redis.String(m.conn.Do("TYPE", Key)); err != nil {
		m.t.Fatal(err)
	}
	return s
}

// reading is a look at the master's clock by a client whose wall clock is ahead
// of it by that much.
func (m *master) reading(ahead time.Duration) drift.Reading {
	now := m.time()
	ours := drift.AtWithoutBoot(0, now.Add(ahead))
	return drift.Reading{Sent: ours, Received: ours, Time: now}
}

func TestALookSaysWhatTheDialScriptWouldAnswerAndWritesNothing(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, m *master) {
		future := itoa(m.time().Add(time.Hour).UnixMilli())
		long := strings.Repeat("x", 100)
		for _, changes := range [][]string{
			{}, {"run", "another"}, {"run", "-"}, {"run", long},
			{"since", "0"}, {"since", "-"}, {"since", "yesterday"}, {"since", "+1"}, {"since", "-1"}, {"since", " 1"}, {"since", future}, {"since", "1234567890123456"},
			version1, append([]string{"run", "another"}, version1...), append([]string{"since", future}, version1...), append([]string{"n", "3"}, version1...),
			{"replid", "another"}, {"replid", ""}, {"replid", "-"}, {"replid", "another", "run", "another"}, {"replid", "another", "since", future}, {"replid", long},
			{"wall", "-"}, {"wall", future}, {"how", "-"}, {"how", "adopted"}, {"without", "1"}, {"without", "1", "run", "another"}, {"without", "1", "since", "-"},
			{"fleet", "-"}, {"fleet", ""},
			{"v", "3"}, {"v", "-"}, {"n", "3"}, {"n", "05"}, {"n", "-"}, {"maxttl", "1000"}, {"maxttl", "060000"}, {"maxttl", "-"},
			{"level", "standard"}, {"level", "strict"}, {"level", "off"}, {"level", long}, {"more", "of it"},
		} {
			for _, level := range []Level{Standard, Strict} {
				for _, ahead := range []time.Duration{0, -time.Minute, time.Minute} {
					c := config(level)
					m.put(c, changes...)
					before := m.marker()
					looked := c.Look(m.stored(), m.run, m.replid, m.reading(ahead))
					m.holds(before)
					m.compare(looked, m.dialWithin(c, ahead), level.String()+" "+strings.Join(changes, "="))
				}
			}
		}
		for _, write := range [][]any{{"DEL", Key}, {"SET", Key, "text"}, {"ZADD", Key, 1, "m"}, {"HSET", Key, "other", "field"}} {
			for _, level := range []Level{Standard, Strict} {
				c := config(level)
				m.do("DEL", Key)
				m.do(write[0].(string), write[1:]...)
				looked := c.Look(m.stored(), m.run, m.replid, m.reading(0))
				m.compare(looked, m.dialWithin(c, 0), level.String()+" "+write[0].(string))
			}
		}
	})
}

// dialWithin is dial by a client that gets the reply at once, so that its clock is
// compared as closely as that of a look.
func (m *master) dialWithin(c Config, ahead time.Duration) Marker {
	m.t.Helper()
	return m.script(Dial, c.DialArgs(Target{Run: m.run, Sent: m.time().Add(ahead), Wait: time.Second}))
}

// compare compares a look with what the script has answered soon after.
func (m *master) compare(looked, dialled Marker, of string) {
	m.t.Helper()
	if wrote := dialled.Verdict == Restarted || dialled.Verdict == Reset || dialled.Verdict == Created; wrote {
		for name, texts := range map[string][2]*string{"since": {&looked.Since, &dialled.Since}, "wall": {&looked.Wall, &dialled.Wall}} {
			earlier, ok := instant(*texts[0])
			if later, ok2 := instant(*texts[1]); !ok || !ok2 || later.Sub(earlier) < 0 || later.Sub(earlier) > 30*time.Second {
				m.t.Errorf("%s: %s is %s, want about %s", of, name, *texts[0], *texts[1])
			}
			*texts[0], *texts[1] = "", ""
		}
	}
	if looked.DB == "" && dialled.Written() { // which it does not know
		looked.DB = dialled.DB
	}
	looked.Sighted, dialled.Sighted = 0, 0 // which it does not look at
	looked.Clock, dialled.Clock = drift.Reading{}, drift.Reading{}
	if looked != dialled {
		m.t.Errorf("%s: the look says %+v, the script %+v", of, looked, dialled)
	}
}

func TestAStoredMarkerNamesItsFleet(t *testing.T) {
	t.Parallel()
	for _, level := range []Level{Standard, Strict} {
		c := config(level)
		s := c.Stored("run", 5)
		if got, ok := s.Fleet(); !ok || got != c {
			t.Errorf("%+v names %+v, %v", s, got, ok)
		}
		if want := "5 masters, " + level.String() + ", longest TTL 1m0s"; s.String() != want || c.String() != want {
			t.Errorf("%q and %q, want %q", s, c, want)
		}
	}
	fine := config(Standard)
	older := fine.Stored("run", 5)
	older.Version = "1" // which the scripts take over
	if c, ok := older.Fleet(); !ok || c != fine || older.String() != fine.String() {
		t.Errorf("%+v names %+v, %v", older, c, ok)
	}
	for name, change := range map[string]func(*Stored){
		"version": func(s *Stored) { s.Version = "3" }, "level": func(s *Stored) { s.LevelIs = "off" }, "no level": func(s *Stored) { s.LevelIs = "" },
		"TTL": func(s *Stored) { s.MaxTTL = "1" }, "long TTL": func(s *Stored) { s.MaxTTL = "9223372036854775807" }, "no TTL": func(s *Stored) { s.MaxTTL = "x" },
		"leading zero": func(s *Stored) { s.MaxTTL = "060000" }, "number": func(s *Stored) { s.Masters = "0" }, "no number": func(s *Stored) { s.Masters = "" },
	} {
		s := fine.Stored("run", 5)
		change(&s)
		if c, ok := s.Fleet(); ok || c != (Config{}) {
			t.Errorf("%s: %+v names %+v", name, s, c)
		}
		if s.String() == fine.String() || strings.ContainsAny(s.String(), "\r\n\x1b") {
			t.Errorf("%s: %q", name, s)
		}
	}
}

func TestWhatIsNoStoredMarkerIsNotRead(t *testing.T) {
	t.Parallel()
	for _, reply := range []any{
		nil, "text", int64(1), []any{}, []any{[]byte("1")}, make([]any, 14), []any{[]byte("1"), nil, nil, nil, nil, nil}, append(make([]any, 14), []byte("1")),
	} {
		if s, ok := ParseStored(reply); ok {
			t.Errorf("%v is read as %+v", reply, s)
		}
	}
	s, ok := ParseStored([]any{[]byte("1"), []byte(strings.Repeat("r", 100)), nil, int64(5), nil, nil, []byte("5"), nil, []byte("0"), nil, nil, []byte("1"), []byte("x"), []byte("7")})
	if want := (Stored{Type: "hash", Fields: Fields{Version: "1", Run: strings.Repeat("r", 64), Masters: "5", DB: "0", Without: "1", To: "x", Closed: "7"}}); !ok || s != want {
		t.Errorf("%+v, %v", s, ok)
	}
}

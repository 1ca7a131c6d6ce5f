package guard

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
)

// sighted is what is in the sighting's hash.
func (m *master) sighted() map[string]string {
	m.t.Helper()
	fields, err := redis.StringMap(m.do("HGETALL", Sighting), nil)
	if err != nil {
		m.t.Fatal(err)
	}
	return fields
}

// sight writes that the master was first seen without a marker: ago by its own clock, and wallAgo
// by the wall clock of a client. changes are pairs of field and value; "-" removes a field.
func (m *master) sight(ago, wallAgo time.Duration, changes ...string) map[string]string {
	m.t.Helper()
	now := m.time()
	fields := map[string]string{
		"run": m.run, "replid": m.replid, "since": itoa(now.Add(-ago).UnixMilli()), "wall": itoa(now.Add(-wallAgo).UnixMilli()),
	}
	for i := 0; i < len(changes); i += 2 {
		if fields[changes[i]] = changes[i+1]; changes[i+1] == "-" {
			delete(fields, changes[i])
		}
	}
	m.do("DEL", Sighting)
	args := []any{Sighting}
	for name, value := range fields {
		args = append(args, name, value)
	}
	m.do("HSET", args...)
	m.do("PEXPIRE", Sighting, 3_600_000)
	return fields
}

// seesItNow fails unless the sighting names this process and history. It must begin
// between then and now, by both clocks, and be kept for a day.
func (m *master) seesItNow(then time.Time) {
	m.t.Helper()
	got := m.sighted()
	for _, name := range []string{"since", "wall"} {
		if at, ok := instant(got[name]); !ok || at.Before(then.Truncate(time.Millisecond)) || at.After(m.time()) {
			m.t.Errorf("%s of the sighting is %q, want an instant in [%v, %v]", name, got[name], then, m.time())
		}
	}
	if len(got) != 4 || got["run"] != m.run || got["replid"] != m.replid {
		m.t.Errorf("the sighting is %v", got)
	}
	day := (24 * time.Hour).Milliseconds()
	if ttl, _ := redis.Int64(m.do("PTTL", Sighting), nil); ttl > day || ttl < day-60_000 {
		m.t.Errorf("the sighting expires in %d ms, want a day", ttl)
	}
}

// noSighting fails where there is one.
func (m *master) noSighting() {
	m.t.Helper()
	if n := m.do("EXISTS", Sighting); n != int64(0) {
		m.t.Errorf("there is a sighting: %v", m.sighted())
	}
}

// keepsSighting fails unless an adoption that remembers since has left its sighting: it has no
// wall, and is kept for a day.
func (m *master) keepsSighting(since string) {
	m.t.Helper()
	got := m.sighted()
	delete(got, "known")
	if want := map[string]string{"run": m.run, "replid": m.replid, "since": since, "wall": ""}; !maps.Equal(got, want) {
		m.t.Errorf("the sighting is %v, want %v", got, want)
	}
	day := (24 * time.Hour).Milliseconds()
	if ttl, _ := redis.Int64(m.do("PTTL", Sighting), nil); ttl > day || ttl < day-60_000 {
		m.t.Errorf("the sighting expires in %d ms, want a day", ttl)
	}
}

// isAgo fails unless since and wall of the marker are so long before an instant between then and
// now. The clocks are read in milliseconds.
func (m *master) isAgo(marker Marker, then time.Time, ago time.Duration) {
	m.t.Helper()
	stored := m.marker()
	for name, text := range map[string]string{"since": marker.Since, "wall": marker.Wall} {
		at, ok := instant(text)
		// wall is the client's time when it asked, less an age by the master's clock when it
		// answered. The way of the question lies in between.
		now := m.time()
		low, high := then.Add(-ago-now.Sub(then)-time.Millisecond).Truncate(time.Millisecond), now.Add(-ago)
		if !ok || at.Before(low) || at.After(high) {
			m.t.Errorf("%s is %q, want an instant in [%v, %v]", name, text, low, high)
		}
		if stored[name] != text {
			m.t.Errorf("the script answers %s %s, the marker says %q", name, text, stored[name])
		}
	}
}

// lookers are the scripts that write a sighting, and nothing else.
var lookers = map[string]func(m *master, sent time.Time) Marker{
	"dial": func(m *master, sent time.Time) Marker { return m.script(Dial, config(Standard).DialArgs(m.at(sent))) },
	"look": func(m *master, sent time.Time) Marker { return m.script(Dial, config(Standard).LookArgs(m.at(sent))) },
	"adopt": func(m *master, sent time.Time) Marker {
		return m.script(Adopt, config(Standard).AdoptArgs(m.at(sent), Facts{Ours: true}, ""))
	},
}

func TestAMasterWithoutAMarkerIsSightedOnceAndLaterLooksLeaveThat(t *testing.T) {
	for name, look := range lookers {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, m *master) {
				then := m.time()
				first := look(m, m.time())
				wantVerdict(t, first, Missing)
				if first.Sighted != 0 {
					t.Errorf("at first sight it has been known for %v", first.Sighted)
				}
				m.seesItNow(then)
				m.holds(nil)
				if n := m.do("DBSIZE"); n != int64(1) {
					t.Errorf("%v keys were written", n)
				}

				for _, later := range []time.Duration{0, 999*time.Millisecond - 50*time.Millisecond} { // not yet time to adopt it
					for again, look := range lookers {
						then := m.time()
						want := m.sight(later, later)
						got := look(m, m.time())
						wantVerdict(t, got, Missing)
						if most := later + m.time().Sub(then) + 2*time.Millisecond; got.Sighted < later || got.Sighted > most {
							t.Errorf("%s: it has been known for %v, want about %v", again, got.Sighted, later)
						}
						if now := m.sighted(); !maps.Equal(now, want) {
							t.Errorf("%s: the sighting has become %v, was %v", again, now, want)
						}
						if ttl, _ := redis.Int64(m.do("PTTL", Sighting), nil); ttl > 3_600_000 {
							t.Errorf("%s: it expires in %d ms, which is later than before", again, ttl)
						}
						m.holds(nil)
					}
				}
			})
		})
	}
}

func TestASightingIsAsOldAsTheYoungerOfBothClocksSays(t *testing.T) {
	type row struct{ ago, wallAgo, want time.Duration }
	onEachCase(t, map[string]row{
		"equal":              {10 * time.Second, 10 * time.Second, 10 * time.Second},
		"the master's clock": {2 * time.Second, time.Hour, 2 * time.Second},
		"the client's clock": {time.Hour, 3 * time.Second, 3 * time.Second},
	}, func(t *testing.T, m *master, test row) {
		then := m.time()
		want := m.sight(test.ago, test.wallAgo)
		got := m.dial(config(Standard))
		wantVerdict(t, got, Missing)
		if most := test.want + m.time().Sub(then) + 2*time.Millisecond; got.Sighted < test.want || got.Sighted > most {
			t.Errorf("it has been known for %v, want %v", got.Sighted, test.want)
		}
		if now := m.sighted(); !maps.Equal(now, want) {
			t.Errorf("the sighting has become %v, was %v", now, want)
		}
	})
}

// A sighting of another process or another history says nothing; neither does one in the future.
func TestASightingThatIsNotOfThisProcessAndPastBeginsAnew(t *testing.T) {
	onEachCase(t, map[string][]string{
		"another process":         {"run", strings.Repeat("0", 40)},
		"another history":         {"replid", strings.Repeat("0", 40)},
		"no history":              {"replid", ""},
		"since an hour ahead":     {"since", "+1h"},
		"wall an hour ahead":      {"wall", "+1h"},
		"since is a word":         {"since", "never"},
		"since is an exponent":    {"since", "1e3"},
		"since is too long":       {"since", "0000000000001000"},
		"since is gone":           {"since", "-"},
		"wall is gone":            {"wall", "-"},
		"nothing but another one": {"run", "-", "replid", "-", "since", "-", "wall", "-", "x", "y"},
	}, func(t *testing.T, m *master, changes []string) {
		for script, look := range lookers {
			changed := append([]string(nil), changes...)
			if changed[1] == "+1h" {
				changed[1] = itoa(m.time().Add(time.Hour).UnixMilli())
			}
			m.sight(time.Minute, time.Minute, changed...)
			m.do("HDEL", Sighting, "y")
			then := m.time()
			got := look(m, m.time())
			if got.Verdict != Missing || got.Sighted != 0 {
				t.Errorf("%s: %v, known for %v, want MISSING from now on", script, got.Verdict, got.Sighted)
			}
			m.do("HDEL", Sighting, "x")
			m.seesItNow(then)
			m.holds(nil)
		}
	})
}

func TestAMasterIsAdoptedAfterASecondWithoutAMarkerAndNotBefore(t *testing.T) {
	type row struct {
		ago, wallAgo, want time.Duration // want: since when it remembers; 0: it is not adopted
	}
	onEachCase(t, map[string]row{
		"never seen":                      {0, 0, 0},
		"below by the master's clock":     {500 * time.Millisecond, time.Hour, 0},
		"below by the client's clock":     {time.Hour, 500 * time.Millisecond, 0},
		"a second":                        {time.Second, time.Second, time.Second},
		"the master's clock was set on":   {time.Hour, 20 * time.Second, 20 * time.Second},
		"the second by the client's only": {time.Hour, time.Second, time.Second},
	}, func(t *testing.T, m *master, test row) {
		c := config(Standard)
		then := m.time()
		m.sight(test.ago, test.wallAgo)
		if test.ago == 0 {
			m.do("DEL", Sighting)
		}
		got := m.script(Adopt, c.AdoptArgs(m.now(), Facts{Ours: true}, ""))
		if test.want == 0 {
			if got.Verdict != Missing || got.Sighted > time.Second {
				t.Errorf("it answers %v, known for %v", got.Verdict, got.Sighted)
			}
			m.holds(nil)
			return
		}
		wantVerdict(t, got, Adopted)
		m.isAgo(got, then, test.want)
		m.holds(m.whole(c, "since", got.Since, "wall", got.Wall, "how", "adopted", "by", ""))
		m.keepsSighting(got.Since)
		age, ok := got.Age(got.Clock.Received)
		if !ok || age < test.want-50*time.Millisecond || age > test.want+m.time().Sub(then)+50*time.Millisecond {
			t.Errorf("it is %v old (%v), want %v", age, ok, test.want)
		}
	})
}

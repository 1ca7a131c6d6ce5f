package guard

import (
	"testing"
	"time"

	"github.com/redquorum/redquorum/drift"
)

// aged is a look, received then, at a marker that is so old by the master's clock
// and so old by our wall clock.
func aged(then drift.Instant, by, byWall time.Duration) Marker {
	c := config(Standard)
	m := healthy(c, 1, 0).Marker
	m.Clock = drift.Reading{Sent: then, Received: then, Time: time.UnixMilli(1_800_000_000_000).Add(by)}
	m.Since = "1800000000000"
	m.Wall = itoa(then.Wall().Add(-byWall).UnixMilli())
	return m
}

const long = 100 * 24 * time.Hour

func TestOnAConnectionTheAgeOfTheFirstLookGoesOnByOurClock(t *testing.T) {
	c := config(Standard)
	f := healthy(c, 1, 0)
	wants := func(what string, now drift.Instant, want time.Duration) {
		t.Helper()
		if age, ok := f.age(now); !ok || age != want {
			t.Errorf("%s: the age is %v (%v), want %v", what, age, ok, want)
		}
	}
	f.Answer(aged(at(0), time.Second, long))
	wants("at first", at(0), time.Second)
	wants("later", at(3*time.Second), 4*time.Second)
	wants("our wall clock was stepped, and we were suspended", drift.At(3*time.Second, time.Hour, at(2*time.Hour).Wall()), 4*time.Second)
	// The master's clock is set forward by an hour.
	f.Answer(aged(at(5*time.Second), time.Hour, long))
	wants("set forward", at(5*time.Second), 6*time.Second)
	wants("set forward, later", at(7*time.Second), 8*time.Second)
	if s := c.Standings([]Facts{f}, at(7*time.Second))[0]; s.Vote || s.Why.Cause != Quarantined || s.Why.Left != c.Quarantine()-8*time.Second {
		t.Errorf("set forward, it %v", s)
	}
	if !c.Standings([]Facts{f}, at(c.Quarantine()-time.Second))[0].Vote {
		t.Error("its quarantine does not end by our clock")
	}

	// On the next connection the smaller age counts.
	f.Age = f.Age.Earlier()
	wants("on the next connection, before a look", at(8*time.Second), 9*time.Second)
	f.Answer(aged(at(10*time.Second), 2*time.Hour, long))
	wants("on the next connection, set forward", at(10*time.Second), 11*time.Second)
	f.Age = f.Age.Earlier()
	f.Answer(aged(at(20*time.Second), 5*time.Second, long))
	wants("on the next connection, set back", at(20*time.Second), 5*time.Second)
	f.Answer(aged(at(30*time.Second), 3*time.Hour, long))
	wants("there, set forward", at(30*time.Second), 15*time.Second)
	f.Age = f.Age.Earlier()
	f.Answer(aged(at(40*time.Second), time.Hour, 7*time.Second))
	wants("on the next connection, younger by our wall clock", at(40*time.Second), 7*time.Second)
}

func TestAnAgeIsOfItsMarkerAlone(t *testing.T) {
	for name, change := range map[string]func(m *Marker){
		"another process": func(m *Marker) { m.Run = "x" },
		"another history": func(m *Marker) { m.Replid = "x" },
		"another since":   func(m *Marker) { m.Since = "1999999999000"; m.Clock.Time = m.Clock.Time.AddDate(20, 0, 0) },
	} {
		f := healthy(config(Standard), 1, 0)
		f.Answer(aged(at(0), time.Second, long))
		m := aged(at(time.Second), time.Hour, long)
		change(&m)
		want, _ := m.Age(at(time.Second))
		f.Answer(m)
		if age, ok := f.age(at(time.Second)); !ok || age != want || want < time.Hour {
			t.Errorf("%s: the age is %v (%v), want %v", name, age, ok, want)
		}
	}
	// The fleet that a marker names does not matter; neither do answers without a marker in
	// between.
	f := healthy(config(Standard), 1, 0)
	f.Answer(aged(at(0), time.Second, long))
	for _, v := range []Verdict{Missing, Skewed, Conflict, Present, WrongType} {
		f.Answer(Marker{Verdict: v, Clock: aged(at(time.Second), 0, 0).Clock})
		if age, ok := f.age(at(time.Second)); ok {
			t.Errorf("%v: it is %v old", v, age)
		}
	}
	m := aged(at(2*time.Second), time.Hour, long)
	m.How, m.DB = HowForced, "1"
	f.Answer(m)
	if age, ok := f.age(at(2 * time.Second)); !ok || age != 3*time.Second {
		t.Errorf("the age is %v (%v), want 3s", age, ok)
	}
	// Without a look through Answer the age is what the marker says.
	f = healthy(config(Standard), 1, time.Hour)
	if age, ok := f.age(at(time.Minute)); !ok || age != time.Hour+time.Minute {
		t.Errorf("the age is %v (%v), want an hour and a minute", age, ok)
	}
}

package guard

import (
	"testing"
	"time"

	"github.com/redquorum/redquorum/drift"
)

// facts is what is known of the master after this answer.
func (m *master) facts(answer Marker) Facts {
	return Facts{Master: "m", Connected: true, Info: Info{RunID: m.run, Role: "master", Policy: "noeviction"}, Marker: answer}
}

func TestAMastersClockThatIsMoved(t *testing.T) {
	const wait = 10 * time.Second
	onEach(t, func(t *testing.T, m *master) {
		for _, level := range []Level{Standard, Strict} {
			c := config(level)
			c.Masters = 1
			m.set(0)
			m.do("DEL", Key)
			// look dials as this machine does, by its own clock.
			look := func() (Marker, Standing) {
				t.Helper()
				marker := m.script(Dial, c.DialArgs(Target{Run: m.run, Sent: time.Now(), Wait: wait}))
				return marker, c.Standings([]Facts{m.facts(marker)}, drift.System().Now())[0]
			}
			first := m.initialize(c, Target{Run: m.run, Sent: time.Now(), Wait: wait}, true, false)
			wantVerdict(t, first, Forced)

			// A clock that is behind may not age a marker, nor one that is ahead.
			m.set(-time.Hour)
			switch marker, s := look(); {
			case s.Vote:
				t.Errorf("%v: an hour behind it %v", level, s)
			case level == Strict && (marker.Verdict != Skewed || s.Why.Cause != OffClock || s.Why.By.High > -59*time.Minute):
				t.Errorf("%v: an hour behind: %v; it %v", level, marker.Verdict, s)
			case level == Standard && (marker.Verdict != Reset || s.Why.Cause != Quarantined):
				t.Errorf("%v: an hour behind: %v; it %v", level, marker.Verdict, s)
			}
			m.set(time.Hour)
			switch marker, s := look(); {
			case level == Strict && (s.Vote || marker.Verdict != Skewed || s.Why.By.Low < 59*time.Minute):
				t.Errorf("%v: an hour ahead: %v; it %v", level, marker.Verdict, s)
			case level == Standard && (s.Vote || marker.Verdict != Same || s.Why.Cause != Quarantined): // by our own clock
				t.Errorf("%v: an hour ahead: %v; it %v", level, marker.Verdict, s)
			}
			m.set(0)
			marker, s := look()
			if level == Standard && (marker.Verdict != Same || s.Vote || s.Why.Cause != Quarantined) {
				t.Errorf("%v: set right again: %v; it %v", level, marker, s)
			}
			if level == Strict && (marker.Verdict != Same || marker.Since != first.Since || s.Vote || s.Why.Cause != Quarantined) {
				t.Errorf("%v: set right again: %v; it %v", level, marker, s)
			}
		}
	})
}

// The script knows when it was sent, not when its answer will be received: what
// it lets pass on a slow link, the answer's own instants tell.
func TestAClockThatIsAheadByLessThanTheWaitIsSeenInTheAnswer(t *testing.T) {
	onEach(t, func(t *testing.T, m *master) {
		c := config(Strict)
		c.Masters = 1
		m.put(c)
		m.set(30 * time.Second)
		marker := m.script(Dial, c.DialArgs(Target{Run: m.run, Sent: time.Now(), Wait: time.Minute}))
		wantVerdict(t, marker, Same)
		if s := c.Standings([]Facts{m.facts(marker)}, drift.System().Now())[0]; s.Vote || s.Why.Cause != OffClock {
			t.Errorf("it %v", s)
		}
	})
}

func TestTheMeterSeesARealMastersStep(t *testing.T) {
	onEach(t, func(t *testing.T, m *master) {
		c := config(Standard)
		meter := drift.NewMeter(drift.Default)
		for i, test := range []struct {
			offset, step time.Duration
		}{{0, 0}, {0, 0}, {time.Minute, time.Minute}, {time.Minute, 0}, {-time.Hour, -61 * time.Minute}, {0, time.Hour}} {
			m.set(test.offset)
			d, err := meter.Add(m.script(Dial, c.DialArgs(Target{Run: m.run, Sent: time.Now(), Wait: time.Minute})).Clock)
			if err != nil {
				t.Fatal(err)
			}
			if (d != nil) != (test.step != 0) {
				t.Fatalf("look %d: %v", i, d)
			}
			if d != nil && (!d.Step || d.By.Low > test.step || d.By.High < test.step) {
				t.Errorf("look %d: %v; want a step by %v", i, d, test.step)
			}
			if s, _ := meter.Offset(); s.Low > test.offset || s.High < test.offset {
				t.Errorf("look %d: the clock is ahead by %v, want %v", i, s, test.offset)
			}
		}
	})
}

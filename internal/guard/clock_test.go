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
	onEachLevel(t, func(t *testing.T, m *master, c Config) {
		c.Masters = 1
		m.set(0)
		// As this machine does, by its own clock.
		target := func() Target { return Target{Run: m.run, Sent: time.Now(), Wait: 10 * time.Second} }
		wantVerdict(t, m.initialize(c, target(), true), Forced)
		for _, step := range []struct {
			off              time.Duration
			standard, strict Verdict
		}{
			{-time.Hour, Reset, Skewed}, // a clock that is behind may not age a marker
			{time.Hour, Same, Skewed},   // nor one that is ahead
			{0, Same, Same},
		} {
			m.set(step.off)
			marker := m.script(Dial, c.DialArgs(target()))
			s := c.Standings([]Facts{m.facts(marker)}, drift.System().Now())[0]
			want, cause := step.standard, Quarantined
			if c.Level == Strict {
				if want = step.strict; want == Skewed {
					cause = OffClock
				}
			}
			if wantVerdict(t, marker, want); s.Vote || s.Why.Cause != cause {
				t.Errorf("%v off: it %v", step.off, s)
			}
			if cause == OffClock && (s.Why.By.Middle()-step.off).Abs() > time.Minute {
				t.Errorf("%v off: it %v", step.off, s)
			}
		}
	})
}

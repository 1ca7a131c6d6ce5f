package doctor

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/guard"
)

// How far a clock may be off before it is reported.
const (
	offNote    = 100 * time.Millisecond
	offWarning = time.Second
)

func judgeClock(l *findings, f *Facts, config guard.Config) {
	if f.Deviation != "" {
		l.add(Finding{
			Severity: Serious, Code: "clock-jumps", What: "has a clock that " + f.Deviation + " while it was watched",
			Why: "When it goes forward, locks expire before their holders know.",
			Do:  "Let one time daemon set it, and slew only: see docs/how-to/runbook.md.",
		}, f.Master)
	}
	if !f.HasClock {
		return
	}
	severity := Note
	switch {
	case config.Level == guard.Strict && f.Offset.Beyond(config.Skew()):
		severity = Serious
	case f.Offset.Beyond(offWarning):
		severity = Warning
	case f.Offset.Beyond(offNote):
	default:
		return
	}
	why := "The lock does not need the same time everywhere, but a clock that is off was set wrongly once, " +
		"and will be set again; fencing tokens and the strict guard need it about right."
	if severity == Serious {
		why = "The fleet is guarded strictly: the master does not vote."
	}
	l.add(Finding{
		Severity: severity, Code: "clock-off", What: "has a clock that is off ours by " + offset(f.Offset),
		Why: why, Do: "Set it (NTP), or this machine's, if it is the one that is off.",
	}, f.Master)
}

// offset returns how far a clock is off, with its sign.
func offset(s drift.Span) string {
	text := s.String()
	if s.Middle() > 0 {
		return "+" + text
	}
	return text
}

// stepNote is the smallest step of a clock that is reported. Clocks of clients may differ by
// about as much.
const stepNote = 2 * time.Second

// judgeStep looks for a clock that was set since the marker was written: the marker
// has that instant by the master's clock and by the clock of the client that wrote it.
func judgeStep(l *findings, f *Facts) {
	if !f.HasClock || f.GuardFacts.Marker.Verdict != guard.Same {
		return // a marker of another process says nothing about this clock
	}
	since, err := strconv.ParseInt(f.GuardFacts.Marker.Since, 10, 64)
	wall, err2 := strconv.ParseInt(f.GuardFacts.Marker.Wall, 10, 64)
	const most = math.MaxInt64 / int64(time.Millisecond)
	if err != nil || err2 != nil || since <= 0 || wall <= 0 || since > most || wall > most {
		return
	}
	then := time.Duration(since-wall) * time.Millisecond
	by, way := f.Offset.Low-then, "forward"
	if f.Offset.High < then {
		by, way = then-f.Offset.High, "back"
	}
	if by < stepNote {
		return
	}
	l.add(Finding{
		Severity: Warning, Code: "clock-set",
		What: fmt.Sprintf("has a clock that was set %s by about %v after its marker was written",
			way, by.Round(time.Second)),
		Why: "It was off when the master began to remember its locks. " +
			"A client whose own clock is behind believes that it has done so for longer than it has, " +
			"and may count its votes too early. " +
			"(Or the clock of the client that wrote the marker was off by as much.)",
		Do: "Let the time daemon set the clock before Redis is started, " +
			"and slew from then on: see docs/how-to/runbook.md.",
	}, f.Master)
}

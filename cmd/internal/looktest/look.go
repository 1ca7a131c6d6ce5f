// Package looktest makes looks at masters for tests.
package looktest

import (
	"strconv"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/observe"
	"github.com/redquorum/redquorum/cmd/internal/testutil"
	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/voters"
)

// JudgedAt is when the masters of Look are judged, and what their clocks show.
func JudgedAt() drift.Instant {
	return drift.AtWithoutBoot(time.Hour, time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))
}

// Millis returns an instant as in a marker, d after JudgedAt.
func Millis(d time.Duration) string {
	return strconv.FormatInt(JudgedAt().Wall().Add(d).UnixMilli(), 10)
}

// Voter returns the facts of a good master in a declared fleet. Look adds the number of masters.
func Voter(address string) guard.Facts {
	f := guard.Facts{
		Master:    address,
		Connected: true,
		Info:      guard.Info{RunID: address, Role: "master", Policy: "noeviction", Mode: "standalone"},
	}
	f.Marker = guard.Marker{Verdict: guard.Same, Clock: Reading(), Fields: guard.Fields{
		Version: guard.Version, Run: address, Replid: "5eed", Since: "0", Wall: "0",
		MaxTTL: "60000", LevelIs: "standard", DB: "0", How: guard.HowDeclared,
	}}
	return f
}

// Away returns the facts of a master that does not run.
func Away(address string) guard.Facts { return guard.Facts{Master: address, Err: testutil.ErrRefused} }

// Reading returns a reading of a clock that is right.
func Reading() drift.Reading {
	return drift.Reading{Sent: JudgedAt(), Received: JudgedAt(), Time: JudgedAt().Wall()}
}

// Look returns a look at masters with these facts, by a client without flags. None refuses writes.
func Look(facts ...guard.Facts) *observe.Look { return LookAs(0, 0, facts...) }

// LookAs returns a look by a client with these flags, 0 where they are not given.
func LookAs(maxTTL, skew time.Duration, facts ...guard.Facts) *observe.Look {
	for i := range facts {
		if m := &facts[i].Marker; m.Version != "" && m.Masters == "" {
			m.Masters = strconv.Itoa(len(facts))
		}
	}
	l := &observe.Look{Look: &voters.Look{Facts: facts, At: JudgedAt()}, Refuses: make([]error, len(facts))}
	fleet, _ := l.Fleet()
	l.Config = observe.ConfigOf(fleet, len(facts), maxTTL, skew)
	for i := range facts {
		m := facts[i].Marker
		if m.Written() && (!m.Matches(l.Config) || m.DB != strconv.Itoa(facts[i].DB)) {
			m.Verdict = guard.Conflict
		}
		if m.Verdict != guard.None {
			facts[i].Answer(m)
		}
	}
	l.Standings = l.Config.Standings(facts, l.At)
	return l
}

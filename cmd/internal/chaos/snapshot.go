package chaos

import (
	"fmt"
	"strings"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/stage"
	"github.com/redquorum/redquorum/cmd/internal/term"
	"github.com/redquorum/redquorum/redlock"
)

// A Snapshot is how everything stands.
type Snapshot struct {
	Begun      bool // masters vote, and time is counted
	Elapsed    time.Duration
	Masters    []MasterRow
	Quorum     int
	Serving    int           // masters whose votes count
	Holder     string        // who has validity left; "": nobody
	Left       time.Duration // of it
	Contenders []string      // what each does: waits, holds or pauses
	Counts     Counts
	Check      stage.CheckCounts
	Events     []Event // the last ones, oldest first
}

// A MasterRow is one master.
type MasterRow struct {
	Address   string
	State     string      // what was done to it, as a word, or how it is seen where others run it
	Seen      stage.Sight // by the observer
	RoundTrip time.Duration
	Known     bool // its clock is
	Offset    time.Duration
	Answers   bool               // it has said who holds
	Held      *redlock.HeldError // nil: nobody, if it answers
}

// Serves reports whether its vote counts, and it answers.
func (m *MasterRow) Serves() bool { return m.Seen.State == stage.SeenUp }

// Counts are what became of the contenders' attempts.
type Counts struct {
	Acquired int64 `json:"acquired"`
	Refused  int64 `json:"refused"` // for want of a quorum
	Lost     int64 `json:"lost"`
	Failed   int64 `json:"failed"` // in any other way, which none should
}

// A Kind of event.
type Kind string

// The kinds of events.
const (
	EventFault     Kind = "fault"     // something was done
	EventMaster    Kind = "master"    // a master that others run is seen to be otherwise
	EventQuorum    Kind = "quorum"    // there is one, or none
	EventLoss      Kind = "loss"      // a holder lost the lock, and was told in time
	EventFailure   Kind = "failure"   // what should not happen, but breaks nothing
	EventViolation Kind = "violation" // what must not happen
)

// An Event is what happened, at a time since the start.
type Event struct {
	AtMS int64  `json:"at_ms"`
	Kind Kind   `json:"kind"`
	Text string `json:"text"`
}

// at is when it happened, for people.
func (e *Event) at() string { return clock(time.Duration(e.AtMS) * time.Millisecond) }

// Line is an event as one plain line, behind the time.
func (e *Event) Line() (at, text string) { return fmt.Sprintf("%8s  ", e.at()), e.Text }

// Line is how everything stands, as one plain line behind the time.
func (s *Snapshot) Line() (at, text string) {
	parts := []string{fmt.Sprintf("%d of %d serve", s.Serving, len(s.Masters))}
	if s.Holder == "" {
		parts = append(parts, "nobody holds")
	} else {
		parts = append(parts, fmt.Sprintf("%s holds, %.1f s left", s.Holder, s.Left.Seconds()))
	}
	parts = append(parts, fmt.Sprintf("%d acquired, %d refused, %d lost", s.Counts.Acquired, s.Counts.Refused, s.Counts.Lost))
	if k := s.Check; k.Broken() {
		parts = append(parts, fmt.Sprintf("BROKEN: %s at once, %d tokens fell", term.Count(k.Overlaps, "pair"), k.TokensFallen))
	} else {
		parts = append(parts, "never two at once")
	}
	return fmt.Sprintf("%8s  · ", clock(s.Elapsed)), strings.Join(parts, " · ")
}

package chaos

import (
	"fmt"
	"time"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/words"
)

// A Verdict is what a run has shown.
type Verdict string

// The verdicts.
const (
	VerdictHeld     Verdict = "held"     // the check did, all the while
	VerdictBroken   Verdict = "broken"   // it did not
	VerdictUntested Verdict = "untested" // nobody ever had the lock
)

// A Result is what a run came to; it is what --json prints.
type Result struct {
	Verdict    Verdict       `json:"verdict"`
	Error      string        `json:"error,omitempty"` // why it ended early
	DurationMS int64         `json:"duration_ms"`
	Masters    string        `json:"masters"`           // embedded, spawned or given
	Version    string        `json:"version,omitempty"` // of theirs, where we run them
	TTLMS      int64         `json:"ttl_ms"`
	Contenders int           `json:"contenders"`
	Fencing    bool          `json:"fencing"`
	Counts     Counts        `json:"counts"`
	Check      CheckCounts   `json:"check"`
	Events     []EventRecord `json:"events"` // the last 100
}

// An EventRecord is an event in a Result.
type EventRecord struct {
	AtMS int64  `json:"at_ms"`
	Kind Kind   `json:"kind"`
	Text string `json:"text"`
}

func (w *World) result(lasted time.Duration) *Result {
	r := &Result{
		Verdict: VerdictHeld, DurationMS: lasted.Milliseconds(),
		Masters: string(w.Cluster.Kind()), Version: w.Cluster.Version(),
		TTLMS: w.TTL.Milliseconds(), Contenders: w.Contenders, Fencing: w.Fencing,
		Counts: w.counted(), Check: w.referee.count(), Events: []EventRecord{},
	}
	switch {
	case r.Check.Broken():
		r.Verdict = VerdictBroken
	case r.Check.Holds == 0:
		r.Verdict = VerdictUntested
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.events {
		r.Events = append(r.Events, EventRecord{e.At.Milliseconds(), e.Kind, e.Text})
	}
	return r
}

// Sentence is the verdict as people read it.
func (r *Result) Sentence() string {
	took := words.Span(time.Duration(r.DurationMS) * time.Millisecond)
	switch r.Verdict {
	case VerdictBroken:
		text := ""
		if n := r.Check.Overlaps; n > 0 {
			text = "two held the lock at once, " + words.Count(n, "time")
		}
		if n := r.Check.TokensFallen; n > 0 {
			if text != "" {
				text += "; "
			}
			text += "a fencing token did not rise, " + words.Count(n, "time")
		}
		return fmt.Sprintf("%s, in %s of %s", text, words.Count(r.Check.Holds, "hold"), took)
	case VerdictUntested:
		return "nobody ever had the lock, so nothing was checked, in " + took
	default:
		text := fmt.Sprintf("%s and %s in %s, and never two held the lock at once",
			words.Count(r.Check.Holds, "hold"), words.Count(r.Check.Looks, "look"), took)
		if r.Check.Tokens > 0 {
			text += fmt.Sprintf("; %s, each above the one before", words.Count(r.Check.Tokens, "fencing token"))
		}
		return text
	}
}

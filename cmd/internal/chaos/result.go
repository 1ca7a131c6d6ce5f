package chaos

import (
	"fmt"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/stage"
	"github.com/redquorum/redquorum/cmd/internal/term"
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
	Verdict    Verdict           `json:"verdict"`
	Error      string            `json:"error,omitempty"` // why it ended early
	DurationMS int64             `json:"duration_ms"`
	Masters    string            `json:"masters"`           // embedded, spawned or given
	Version    string            `json:"version,omitempty"` // of theirs, where we run them
	TTLMS      int64             `json:"ttl_ms"`
	Contenders int               `json:"contenders"`
	Fencing    bool              `json:"fencing"`
	Counts     Counts            `json:"counts"`
	Check      stage.CheckCounts `json:"check"`
	Events     []Event           `json:"events"` // the last 100
}

func (w *World) result(lasted time.Duration) *Result {
	r := &Result{
		Verdict: VerdictHeld, DurationMS: lasted.Milliseconds(),
		Masters: string(w.Stage.Cluster.Kind), Version: w.Stage.Cluster.Version,
		TTLMS: w.Stage.TTL.Milliseconds(), Contenders: Contenders, Fencing: true,
		Check: w.referee.Count(), Events: []Event{},
	}
	switch {
	case r.Check.Broken():
		r.Verdict = VerdictBroken
	case r.Check.Holds == 0:
		r.Verdict = VerdictUntested
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	r.Counts = w.counts
	r.Events = append(r.Events, w.events...)
	return r
}

// Sentence is the verdict as people read it.
func (r *Result) Sentence() string {
	took := term.Span(time.Duration(r.DurationMS) * time.Millisecond)
	switch r.Verdict {
	case VerdictBroken:
		text := ""
		if n := r.Check.Overlaps; n > 0 {
			text = "two held the lock at once, " + term.Count(n, "time")
		}
		if n := r.Check.TokensFallen; n > 0 {
			if text != "" {
				text += "; "
			}
			text += "a fencing token did not rise, " + term.Count(n, "time")
		}
		return fmt.Sprintf("%s, in %s of %s", text, term.Count(r.Check.Holds, "hold"), took)
	case VerdictUntested:
		return "nobody ever had the lock, so nothing was checked, in " + took
	default:
		text := fmt.Sprintf("%s and %s in %s, and never two held the lock at once",
			term.Count(r.Check.Holds, "hold"), term.Count(r.Check.Looks, "look"), took)
		if r.Check.Tokens > 0 {
			text += fmt.Sprintf("; %s, each above the one before", term.Count(r.Check.Tokens, "fencing token"))
		}
		return text
	}
}

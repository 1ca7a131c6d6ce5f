package demo

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/term"
	"github.com/redquorum/redquorum/redlock"
)

// A ledger records what happened to the buyers of one shop.
type ledger struct {
	// mu guards what follows.
	mu       sync.Mutex
	sales    []turn
	refusals []turn // without a quorum
	lost     int    // locks that were lost while their buyer was at the stock
	other    int    // failures of any other kind
	oddity   error  // the first of them
}

func (l *ledger) note(t turn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t.bought {
		l.sales = append(l.sales, t)
	}
	if _, refused := t.refused(); refused {
		l.refusals = append(l.refusals, t)
	} else if errors.Is(t.err, redlock.ErrLost) {
		l.lost++
	} else if t.err != nil {
		if l.other++; l.other == 1 {
			l.oddity = t.err
		}
	}
}

// A window is a time span that is measured by itself. A sale belongs to the window in which
// its lock was granted.
type window struct {
	from, to time.Time
	// grace, if not 0, leaves out sales whose lock was requested before from and granted within
	// grace after it: such a grant was already on its way.
	grace time.Duration
}

// figures are the counts and times of a window.
type figures struct {
	sales, refused int
	p50, p99       time.Duration        // of a sale, from the request for the lock to its release
	longest        time.Duration        // from request to refusal, of requests within the window
	last           *redlock.QuorumError // the error of the latest of them
}

func (l *ledger) in(w window) figures {
	l.mu.Lock()
	defer l.mu.Unlock()
	var f figures
	var took []time.Duration
	for _, s := range l.sales {
		if w.has(s.granted) && !(s.called.Before(w.from) && s.granted.Before(w.from.Add(w.grace))) {
			took = append(took, s.done.Sub(s.called))
		}
	}
	for _, r := range l.refusals {
		if !w.has(r.done) {
			continue
		}
		f.refused++
		if !r.called.Before(w.from) {
			f.longest = max(f.longest, r.done.Sub(r.called))
			f.last, _ = r.refused()
		}
	}
	slices.Sort(took)
	f.sales, f.p50, f.p99 = len(took), term.Percentile(took, 50), term.Percentile(took, 99)
	return f
}

func (w window) has(t time.Time) bool { return !t.Before(w.from) && t.Before(w.to) }

// firstAfter returns when the first sale ended whose lock was granted after t; false: none yet.
func (l *ledger) firstAfter(t time.Time) (time.Time, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var first time.Time
	for _, s := range l.sales {
		if s.granted.After(t) && (first.IsZero() || s.done.Before(first)) {
			first = s.done
		}
	}
	return first, !first.IsZero()
}

// remark describes the failures that are no refusals, and reports whether they are mistakes. A lost
// lock is no mistake: its buyer learned of it in time, and bought nothing.
func (l *ledger) remark() (text string, wrong bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.other > 0:
		return fmt.Sprintf("%s, the first: %v", count(l.other, "unexpected failure"), l.oddity), true
	case l.lost > 0:
		return count(l.lost, "lock") + " lost, without harm", false
	default:
		return "", false
	}
}

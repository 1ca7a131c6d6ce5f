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

// A ledger is what happened to the buyers of one shop.
type ledger struct {
	// mu guards what follows.
	mu       sync.Mutex
	sales    []turn
	refusals []turn // for want of a quorum
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

// A window is a stretch of time that is looked at by itself. A sale belongs to
// the one in which it was granted.
type window struct {
	from, to time.Time
	// grace, if not 0, leaves out sales that were granted so soon after from to
	// a buyer who had asked before: their grant was on its way already.
	grace time.Duration
}

// figures are what a window saw.
type figures struct {
	sales, refused int
	p50, p99       time.Duration        // of a sale, from asking for the lock to having given it back
	longest        time.Duration        // from asking to being refused, of those who asked within the window
	last           *redlock.QuorumError // what the latest of them was told
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

// firstAfter is when the first sale that was granted after t was done; false:
// there is none yet.
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

// remark is what there is to say of failures that are no refusals, and whether
// they should not have happened. A lock that was lost is no mistake: its buyer
// was told in time, and bought nothing.
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

package voters

import (
	"context"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/pipeline"
)

// A Look is what all masters have said of themselves, and what follows for their votes,
// as of one instant. The slices have the masters' order.
type Look struct {
	Facts     []guard.Facts
	Standings []guard.Standing
	At        drift.Instant
}

// Look asks all masters, and waits until each has answered or failed, or ctx ends. A master that
// has not answered by then counts as silent, or, if it has answered INFO, as one that does not take
// the scripts. It is for Monitors that are ReadOnly, one call at a time.
func (g *Monitor) Look(ctx context.Context) *Look {
	if g.hasLooked { // the first time each connection is asked when it comes up
		g.lookAnew()
	}
	g.hasLooked = true
	_ = g.awaitLooks(ctx) // the result says which masters have not answered
	g.mu.Lock()
	defer g.unlock()
	for i := range g.masters {
		w := &g.masters[i]
		if q := w.asking; q != nil && q.purpose == askLook && q.leftInfo == 0 {
			_ = q.readInfo(w)
		}
	}
	l := &Look{Facts: g.facts(), At: g.cfg.Clock.Now()}
	silent := func(i int) bool { return g.masters[i].redialing || g.masters[i].asking != nil && !g.masters[i].looked }
	for i := range l.Facts {
		switch f := &l.Facts[i]; {
		case silent(i):
			f.Connected, f.Err = false, &pipeline.DownError{Cause: pipeline.ErrTimeout}
		case g.masters[i].asking != nil:
			f.MarkerErr = pipeline.ErrTimeout
		}
		l.Facts[i].NoWrites = g.masters[i].noWrites(g.cfg.Masters[i].RoundTrip())
	}
	l.Standings = g.standings(l.Facts, l.At)
	for i := range l.Standings {
		if silent(i) {
			why := &guard.AbstainError{Cause: guard.NotConnected, Err: l.Facts[i].Err}
			l.Standings[i] = guard.Standing{Master: l.Facts[i].Master, Why: why}
		}
	}
	return l
}

// scriptsBound is how long a ReadOnly Monitor waits for the scripts of a look once INFO was
// answered, counted from the look's start. It is below the pool's stall limit, after which nothing
// is known of the master any more.
const scriptsBound = 500 * time.Millisecond

// takesNoScript reports whether a look has waited for longer than that: the master's clients are
// paused. The caller must hold g.mu.
func (w *masterState) takesNoScript() bool {
	q := w.asking
	return q.g.cfg.ReadOnly && q.leftInfo == 0 && time.Since(w.asked) > scriptsBound
}

// Use changes the settings by which a Monitor that is ReadOnly judges, from its next Look on. It
// forgets what is known of the markers: that was the answer to other settings.
func (g *Monitor) Use(c guard.Config) {
	g.mu.Lock()
	defer g.unlock()
	g.cfg.Guard = c
	for i := range g.masters {
		w := &g.masters[i]
		f := &w.facts
		w.facts = guard.Facts{
			Master: f.Master, DB: f.DB, Connected: f.Connected, Err: f.Err,
			Info: f.Info, InfoErr: f.InfoErr, Refused: f.Refused,
		}
		w.asking = nil
	}
	g.judge()
}

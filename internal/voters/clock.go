package voters

import (
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/guard"
)

// A clockWatch follows one master's clock. It only reports: it never makes a lock
// valid for longer.
type clockWatch struct {
	meter *drift.Meter
	last  *drift.Deviation // the latest deviation; nil: none was seen
	when  time.Time
}

// ClockReport has the fields of redlock.ClockReport, into which it is converted. The
// fields are explained there.
type ClockReport struct {
	Offset            drift.Span
	RateLow, RateHigh float64
	RateKnown         bool
	Deviation         *drift.Deviation
	At                time.Time
}

// addReading adds one more reading of a master's clock. The caller must hold g.mu.
func (g *Monitor) addReading(i int, r drift.Reading) {
	w := &g.masters[i].clock
	if w.meter == nil {
		w.meter = drift.NewMeter(g.cfg.Guard.Drift)
	}
	d, err := w.meter.Add(r)
	if err != nil || d == nil {
		return // an error means that the reading is not usable
	}
	w.last, w.when = d, time.Now()
	name := g.masters[i].facts.Master
	g.notify = append(g.notify, func() {
		g.cfg.Logger.Warn("master's clock was set or drifts", "master", name, "clock", d.String())
		if g.cfg.ClockChanged != nil {
			g.cfg.ClockChanged(name, d)
		}
	})
}

// report is what was seen of the clock; nil: nothing yet.
func (w *clockWatch) report() *ClockReport {
	if w.meter == nil {
		return nil
	}
	r := &ClockReport{Deviation: w.last, At: w.when}
	r.Offset, _ = w.meter.Offset()
	r.RateLow, r.RateHigh, r.RateKnown = w.meter.Rate()
	return r
}

// A Standing says whether a master may vote, and how its clock runs; nil: not read yet.
type Standing struct {
	guard.Standing
	Clock *ClockReport
}

// Standings is the present standing of every master, in their order.
func (g *Monitor) Standings() []Standing {
	g.mu.Lock()
	defer g.unlock()
	judged := g.standings(g.facts(), g.cfg.Clock.Now())
	all := make([]Standing, len(judged))
	for i, s := range judged {
		all[i] = Standing{s, g.masters[i].clock.report()}
	}
	return all
}

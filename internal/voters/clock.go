package voters

import (
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/guard"
)

// A clockWatch follows one master's clock. It only tells: no lock is believed in
// for longer because of it.
type clockWatch struct {
	meter *drift.Meter
	last  *drift.Deviation // the last one; nil: none
	when  time.Time
}

// ClockReport has the fields of redlock.ClockReport, which says what they are:
// the one is converted to the other.
type ClockReport struct {
	Offset            drift.Span
	RateLow, RateHigh float64
	RateKnown         bool
	Deviation         *drift.Deviation
	At                time.Time
}

// addReading takes one more look at a master's clock. The caller must hold g.mu.
func (g *Monitor) addReading(i int, r drift.Reading) {
	w := &g.masters[i].clock
	if w.meter == nil {
		w.meter = drift.NewMeter(g.cfg.Drift)
	}
	d, err := w.meter.Add(r)
	if err != nil || d == nil {
		return // an error is of a reading that is none: there is nothing to learn
	}
	w.last, w.when = d, time.Now()
	name := g.masters[i].facts.Master
	g.notify = append(g.notify, func() {
		g.logger.Warn("master's clock", "master", name, "clock", d.String())
		if g.clockChanged != nil {
			g.clockChanged(name, d)
		}
	})
}

// report is what the watch has seen; nil: nothing yet.
func (w *clockWatch) report() *ClockReport {
	if w.meter == nil {
		return nil
	}
	r := &ClockReport{Deviation: w.last, At: w.when}
	r.Offset, _ = w.meter.Offset()
	r.RateLow, r.RateHigh, r.RateKnown = w.meter.Rate()
	return r
}

// A Standing is how a master stands, and its clock; nil: not read yet.
type Standing struct {
	guard.Standing
	Clock *ClockReport
}

// Standings is how all masters stand now, in their order.
func (g *Monitor) Standings() []Standing {
	g.mu.Lock()
	defer g.unlock()
	judged := g.standings(g.facts(), g.clock.Now())
	all := make([]Standing, len(judged))
	for i, s := range judged {
		all[i] = Standing{s, g.masters[i].clock.report()}
	}
	return all
}

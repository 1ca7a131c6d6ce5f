package voters

import (
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/guard"
)

// A clockWatch follows one master's clock. It only reports: it never makes a lock valid for longer.
type clockWatch struct {
	meter *drift.Meter
	last  *drift.Deviation // the latest deviation; nil: none was seen
	when  time.Time
}

// addReading adds one more reading of a master's clock. The caller must hold g.mu.
func (q *inquiry) addReading(r drift.Reading) {
	g, w := q.g, &q.g.masters[q.i].clock
	if w.meter == nil {
		w.meter = drift.NewMeter(g.cfg.Guard.Drift)
	}
	d, err := w.meter.Add(r)
	if err != nil || d == nil {
		return // an error means that the reading is not usable
	}
	w.last, w.when = d, time.Now()
	name, at := g.masters[q.i].facts.Master, w.when
	g.cfg.Deliverer.Warn("master's clock was set or drifts", "master", name, "clock", d.String())
	if g.cfg.ClockChanged != nil {
		g.cfg.Deliverer.Put(func() { g.cfg.ClockChanged(name, d, at) })
	}
}

// A Standing says whether a master may vote, whether it takes writes of locks as far as is known, and how its
// clock runs.
type Standing struct {
	guard.Standing
	Grants      bool
	Offset      *drift.Span      // of its clock; nil: not read yet
	Deviation   *drift.Deviation // the latest; nil: none was seen
	DeviationAt time.Time
}

// Standings is the present standing of every master, in their order.
func (g *Monitor) Standings() []Standing {
	g.mu.Lock()
	defer g.unlock()
	judged := g.standings(g.facts(), g.cfg.Clock.Now())
	all := make([]Standing, len(judged))
	for i, s := range judged {
		w := &g.masters[i].clock
		all[i] = Standing{
			Standing:    s,
			Grants:      g.masters[i].noWrites(g.cfg.Masters[i].RoundTrip()) == nil,
			Deviation:   w.last,
			DeviationAt: w.when,
		}
		if w.meter != nil {
			offset, _ := w.meter.Offset()
			all[i].Offset = &offset
		}
	}
	return all
}

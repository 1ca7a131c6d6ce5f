package redlock

import (
	"time"

	"github.com/redquorum/redquorum/drift"
)

// A clockWatch follows one master's clock. It only tells: no lock is believed in
// for longer because of it.
type clockWatch struct {
	meter *drift.Meter
	last  *drift.Deviation // the last one; nil: none
	when  time.Time
}

// ClockInfo tells that a master's clock was set, or runs faster or slower than
// WithDrift allows for.
type ClockInfo struct {
	Master    string
	Deviation *drift.Deviation
}

// A ClockReport is what is known of a master's clock.
type ClockReport struct {
	// Offset is by how much it was ahead of this machine's wall clock when it
	// was read last, a few seconds ago at the most.
	Offset drift.Span
	// RateLow and RateHigh are by how much faster it runs than this machine's,
	// 0.01 for one percent; the truth is in between. RateKnown is false while
	// nothing can be said.
	RateLow, RateHigh float64
	RateKnown         bool
	// Deviation is the last time that it was set, or ran faster or slower than
	// WithDrift allows for, as seen At; nil: it did not, as far as this client
	// has seen.
	Deviation *drift.Deviation
	At        time.Time
}

// addReading takes one more look at a master's clock. The caller must hold g.mu.
func (g *guardian) addReading(i int, r drift.Reading) {
	w := &g.masters[i].clock
	if w.meter == nil {
		w.meter = drift.NewMeter(g.c.opts.drift)
	}
	d, err := w.meter.Add(r)
	if err != nil || d == nil {
		return // an error is of a reading that is none: there is nothing to learn
	}
	w.last, w.when = d, time.Now()
	name := g.masters[i].facts.Master
	g.tell = append(g.tell, func() {
		g.c.opts.logger.Warn("master's clock", "master", name, "clock", d.String())
		if t := g.c.opts.trace; t != nil && t.Clock != nil {
			t.Clock(ClockInfo{Master: name, Deviation: d})
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

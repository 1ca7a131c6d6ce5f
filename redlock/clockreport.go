package redlock

import (
	"time"

	"github.com/redquorum/redquorum/drift"
)

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

// clockChanged is what the watch of the masters' clocks tells, if anybody listens.
func (t *Trace) clockChanged() func(master string, d *drift.Deviation) {
	if t == nil || t.Clock == nil {
		return nil
	}
	return func(master string, d *drift.Deviation) { t.Clock(ClockInfo{Master: master, Deviation: d}) }
}

package drift

import (
	"fmt"
	"time"
)

// slewLimit is the highest rate at which a clock is assumed to be slewed; a clock that moves faster
// was stepped. chrony slews by up to 8.3 percent, adjtime by 0.05.
const slewLimit = 0.1

// A Meter watches a master's clock by the Readings that it is given: how far it is from ours, and
// whether it kept within a Policy.
//
// It sees a step, and a rate that is beyond the Policy for long enough to show through the round
// trips. It does not see a clock that was stepped and set right again between two readings. A
// machine of ours that stood still without its clocks noticing, as a paused virtual machine does,
// looks like a master that was stepped forward.
//
// It is not safe for concurrent use.
type Meter struct {
	policy Policy
	first  Reading // since the last Deviation; zero: none
	last   Reading
}

// NewMeter returns a Meter that reports what is beyond the Policy. One that
// does not pass Validate counts as the methods of Policy say.
func NewMeter(p Policy) *Meter { return &Meter{policy: p} }

// Add takes one more reading, newer than those before. It returns a Deviation when the master's
// clock has certainly left the Policy since the last one or since the first, otherwise nil. What
// came before a Deviation is forgotten, so that each is reported once; a rate that stays beyond the
// Policy is reported again after a while.
//
// An invalid reading (a zero field, received before it was sent) is an error. One that was received
// before the last one is ignored.
func (m *Meter) Add(r Reading) (*Deviation, error) {
	if err := r.validate(); err != nil {
		return nil, err
	}
	if m.last.Received.IsZero() {
		m.first, m.last = r, r
		return nil, nil
	}
	if r.Received.steady(m.last.Received) < 0 {
		return nil, nil
	}
	d := m.between(m.last, r)
	if d == nil {
		d = m.between(m.first, r)
	}
	if m.last = r; d != nil {
		m.first = r
	}
	return d, nil
}

func (m *Meter) between(earlier, later Reading) *Deviation {
	moved := later.phase(earlier.Sent).minus(earlier.phase(earlier.Sent))
	over := max(later.Received.steady(earlier.Sent), 0)
	if !moved.Beyond(m.policy.Allowance(over)) {
		return nil
	}
	slewed := Policy{Factor: max(slewLimit, m.policy.Factor), Floor: m.policy.Floor}
	return &Deviation{
		Step: moved.Beyond(slewed.Allowance(over)),
		By:   moved, Over: over, Allowed: m.policy.Allowance(over),
	}
}

// Offset is by how much the master's clock was ahead of our wall clock at the
// newest reading; see Reading.Offset. It reports false before the first.
func (m *Meter) Offset() (Span, bool) {
	if m.last.Received.IsZero() {
		return Span{}, false
	}
	return m.last.Offset(), true
}

// A Deviation says that a master's clock moved against ours by more than the Policy allows.
type Deviation struct {
	Step    bool          // faster than any clock is slewed: it was set
	By      Span          // how far it moved: forward, or back where negative
	Over    time.Duration // within which time of ours, at most
	Allowed time.Duration // by the Policy, either way
}

// String is one line, such as "stepped forward by 1m0s ± 2ms within 10s (20ms allowed)".
func (d *Deviation) String() string {
	verb, by, way := "ran", d.By, "fast"
	if by.Middle() < 0 {
		by, way = Span{Low: -by.High, High: -by.Low}, "slow"
	}
	if d.Step {
		verb = "stepped"
		if way = "forward"; d.By.Middle() < 0 {
			way = "back"
		}
	}
	return fmt.Sprintf("%s %s by %v within %v (%v allowed)", verb, way, by, rounded(d.Over), rounded(d.Allowed))
}

package drift

import (
	"fmt"
	"time"
)

// slewLimit is the fastest that a clock is taken to be slewed; what moves
// faster was stepped. chrony slews by up to 8.3 percent, adjtime by 0.05.
const slewLimit = 0.1

// meterReadings is how many readings a Meter keeps, and meterSpacing how far
// they are apart at least. Read every five seconds at the most, they reach back
// nearly two minutes, in which a rate twice that of the default Policy shows as
// more than a second.
const (
	meterReadings = 24
	meterSpacing  = 4 * time.Second
)

// A Meter watches a master's clock by the Readings that it is given: how far it
// is from ours, at what rate it runs, and whether it kept within a Policy.
//
// It sees a step, and a rate that is beyond the Policy for long enough to show
// through the round trips. It does not see a clock that was stepped and set
// right again between two readings. A machine of ours that stood still without
// its clocks noticing, as a paused virtual machine does, looks like a master
// that was stepped forward.
//
// A Meter keeps at most 25 readings. It is not safe for concurrent use.
type Meter struct {
	policy Policy
	last   Reading   // the newest; zero: none
	kept   []Reading // older ones, oldest first, at least meterSpacing apart
}

// NewMeter returns a Meter that reports what is beyond the Policy. One that
// does not pass Validate counts as the methods of Policy say.
func NewMeter(p Policy) *Meter { return &Meter{policy: p} }

// Add takes one more reading, newer than those before. It returns a Deviation
// when the master's clock has certainly left the Policy since one of them, else
// nil. What came before a Deviation is forgotten, so that each is reported once;
// a rate that stays beyond the Policy is reported again after a while.
//
// A reading that is none (a zero field, received before it was sent) is an
// error, and one that was received before the last one is passed over.
func (m *Meter) Add(r Reading) (*Deviation, error) {
	if err := r.validate(); err != nil {
		return nil, err
	}
	if m.last.Received.IsZero() {
		m.last = r
		return nil, nil
	}
	if r.Received.steady(m.last.Received) < 0 {
		return nil, nil
	}
	if d := m.deviation(r); d != nil {
		m.kept, m.last = m.kept[:0], r
		return d, nil
	}
	m.keep()
	m.last = r
	return nil, nil
}

// keep makes the newest reading one of the older ones, if it is far enough from
// the one before.
func (m *Meter) keep() {
	if n := len(m.kept); n > 0 && m.last.Received.steady(m.kept[n-1].Received) < meterSpacing {
		return
	}
	if len(m.kept) == meterReadings {
		m.kept = append(m.kept[:0], m.kept[1:]...)
	}
	m.kept = append(m.kept, m.last)
}

// deviation compares r with each earlier reading. The last one comes first: a
// step between the two is told as such.
func (m *Meter) deviation(r Reading) *Deviation {
	if d := m.between(m.last, r); d != nil {
		return d
	}
	for i := len(m.kept) - 1; i >= 0; i-- {
		if d := m.between(m.kept[i], r); d != nil {
			return d
		}
	}
	return nil
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

// Rate is by how much faster than ours the master's clock runs, as a fraction:
// between low and high, 0.01 for one percent. The true rate is within as long as
// it did not change over the readings that are kept. It reports false while
// they do not say anything: before the second, or while all overlap.
func (m *Meter) Rate() (low, high float64, ok bool) {
	low, high = -1, 1
	for _, earlier := range m.kept {
		l, h, known := rate(earlier, m.last)
		if !known {
			continue
		}
		// Each pair holds the true rate, so their intersection does; it is empty
		// only when the rate changed, and then the newest pair is right.
		if ok && (l > high || h < low) {
			low, high = l, h
			continue
		}
		if !ok {
			low, high, ok = l, h, true
			continue
		}
		low, high = max(low, l), min(high, h)
	}
	return low, high, ok
}

// rate is what the rate can have been between two readings.
func rate(earlier, later Reading) (low, high float64, ok bool) {
	moved := later.phase(earlier.Sent).minus(earlier.phase(earlier.Sent))
	least := float64(later.Sent.steady(earlier.Received)) // between the master's two looks at its clock
	most := float64(later.Received.steady(earlier.Sent))
	if least <= 0 {
		return 0, 0, false
	}
	quotient := func(d time.Duration, positive, negative float64) float64 {
		if d >= 0 {
			return float64(d) / positive
		}
		return float64(d) / negative
	}
	return quotient(moved.Low, most, least), quotient(moved.High, least, most), true
}

// A Deviation says that a master's clock moved against ours by more than the
// Policy allows.
type Deviation struct {
	Step    bool          // faster than any clock is slewed: it was set
	By      Span          // how far it moved: forward, or back where negative
	Over    time.Duration // within which time of ours, at most
	Allowed time.Duration // by the Policy, either way
}

// String is one line, such as "stepped forward by 1m0s ± 2ms within 10s (20ms
// allowed)".
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

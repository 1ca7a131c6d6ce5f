package drift

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// timeStep is the resolution of TIME, which cuts off parts of a microsecond.
const timeStep = time.Microsecond

// A Reading is one look at a master's clock: the reply to a command that
// tells TIME, and when it was asked for and received by our own clock. The
// master read its clock at some instant between the two.
type Reading struct {
	Sent, Received Instant   // before the first byte was written, after the reply was read
	Time           time.Time // what the master's clock showed, to the microsecond
}

// validate says why r is not a valid reading; nil: it is one.
func (r Reading) validate() error {
	switch {
	case r.Sent.IsZero() || r.Received.IsZero():
		return errors.New("drift: Reading without Sent or Received: want Instants of one Clock")
	case r.Time.IsZero():
		return errors.New("drift: Reading.Time is zero: want what the master's clock showed")
	case r.Received.steady(r.Sent) < 0:
		return fmt.Errorf("drift: Reading received %v before it was sent: want Received after Sent",
			-r.Received.steady(r.Sent))
	}
	return nil
}

// Offset is by how much the master's clock was ahead of our wall clock when it was read; negative
// if it was behind. The longer the round trip, the less is known. The true value is in the Span as
// long as our wall clock was not stepped, during the round trip, to somewhere outside of what it
// showed at its ends. Without Sent or Received every value is possible.
func (r Reading) Offset() Span {
	if r.Sent.IsZero() || r.Received.IsZero() {
		return Span{Low: -longestSpan, High: longestSpan}
	}
	t := unixNano(r.Time)
	return Span{
		Low:  time.Duration(sub(t, max(r.Sent.wall, r.Received.wall))),
		High: time.Duration(sub(add(t, int64(timeStep)), min(r.Sent.wall, r.Received.wall))),
	}
}

// phase is Offset against our steady clock, counted from an origin. Unlike the wall clock, the
// steady clock is not stepped.
func (r Reading) phase(origin Instant) Span {
	t := unixNano(r.Time)
	return Span{
		Low:  time.Duration(sub(t, int64(r.Received.steady(origin)))),
		High: time.Duration(sub(add(t, int64(timeStep)), int64(r.Sent.steady(origin)))),
	}
}

// A Span is the range of values that a measured duration can have, from Low to High.
type Span struct{ Low, High time.Duration }

const longestSpan = time.Duration(math.MaxInt64)

// Beyond reports whether the duration is certainly outside of [-limit, limit].
func (s Span) Beyond(limit time.Duration) bool { return s.Low > limit || s.High < -limit }

// minus is the range that the difference of two measured durations can have.
func (s Span) minus(o Span) Span {
	return Span{
		Low:  time.Duration(sub(int64(s.Low), int64(o.High))),
		High: time.Duration(sub(int64(s.High), int64(o.Low))),
	}
}

// Middle is the best guess.
func (s Span) Middle() time.Duration { return s.Low + (s.High/2 - s.Low/2) }

// String is the middle and how far off it may be, such as "1m0s ± 2ms".
func (s Span) String() string {
	half := (s.High/2 - s.Low/2).Abs()
	return fmt.Sprintf("%v ± %v", rounded(s.Middle()), rounded(half))
}

// rounded leaves out digits that nobody reads.
func rounded(d time.Duration) time.Duration {
	switch a := d.Abs(); {
	case a >= time.Minute:
		return d.Round(100 * time.Millisecond)
	case a >= time.Second:
		return d.Round(time.Millisecond)
	case a >= time.Millisecond:
		return d.Round(10 * time.Microsecond)
	}
	return d.Round(100 * time.Nanosecond)
}

package drift

import (
	"math"
	"time"
)

// Instant is a reading of three clocks: monotonic, boot time (where the system has it) and wall.
// The zero Instant is no reading.
//
// An Instant is a small value: pass and store it as such. It may be compared with ==, which says
// whether two readings are the same in every clock, and copied and read by any number of
// goroutines. Its monotonic and boot-time parts mean something only within the process that read
// them, so an Instant is not to be written to disk or sent elsewhere.
type Instant struct {
	mono  int64 // nanoseconds since an origin that all readings of a Clock share
	boot  int64 // likewise, counting the time the machine slept; 0 without hasBoot
	wall  int64 // nanoseconds since 1970-01-01 UTC
	flags flags
}

// flags tells what a reading has. The bits above them hold how far the wall clock was stepped
// forward before the reading, in nanoseconds (see Cumulative). So an Instant has only four words.
type flags uint64

const (
	hasReading flags = 1 << iota // tells a reading of all zeros from no reading
	hasBoot
	flagBits = iota
)

// gained is the sum of all steps of the wall clock forward that were met before i.
func (i Instant) gained() int64 { return int64(i.flags >> flagBits) } //nolint:gosec // 62 bits

// withGained returns i after steps forward of ns nanoseconds in all; what does not fit, above 146
// years, counts as the greatest that does.
func (i Instant) withGained(ns int64) Instant {
	const most = 1<<(64-flagBits) - 1
	i.flags = i.flags&(1<<flagBits-1) | flags(min(ns, most))<<flagBits //nolint:gosec // it is not negative
	return i
}

// At returns the Instant at which the three clocks show what is given. The origins of mono and boot
// are free, but must be the same for all Instants that are subtracted from each other. A wall time
// outside of what 64 bits of nanoseconds around 1970 hold (the years 1678 to 2262) counts as the
// nearest within.
func At(mono, boot time.Duration, wall time.Time) Instant {
	i := AtWithoutBoot(mono, wall)
	i.boot = int64(boot)
	i.flags |= hasBoot
	return i
}

// AtWithoutBoot is At for a machine that cannot tell boot time.
func AtWithoutBoot(mono time.Duration, wall time.Time) Instant {
	return Instant{mono: int64(mono), wall: unixNano(wall), flags: hasReading}
}

// Sub returns how much time has passed since earlier: the largest of the differences of the
// monotonic clocks, of boot times where both readings have it, and of the wall clocks. It is never
// negative. Between Instants of a clock of Cumulative, steps of the wall clock forward are added to
// what passed by the monotonic clock before the largest is taken.
//
// So time that the machine slept is counted, a wall clock stepped back changes nothing, and one
// stepped forward makes the result longer: an error on the side of believing less. For the same
// reason, when i or earlier is the zero Instant, the time passed is unknown and the result is the
// greatest Duration.
func (i Instant) Sub(earlier Instant) time.Duration {
	if i.IsZero() || earlier.IsZero() {
		return math.MaxInt64
	}
	d := max(0, add(sub(i.mono, earlier.mono), i.gained()-earlier.gained()), sub(i.wall, earlier.wall))
	if i.flags&earlier.flags&hasBoot != 0 {
		d = max(d, sub(i.boot, earlier.boot))
	}
	return time.Duration(d)
}

// Wall returns what the wall clock showed, in local time and without a monotonic reading; for the
// zero Instant it is the zero Time. It is for people and logs: decide by Sub.
func (i Instant) Wall() time.Time {
	if i.IsZero() {
		return time.Time{}
	}
	return time.Unix(0, i.wall)
}

// IsZero reports whether i is no reading at all.
func (i Instant) IsZero() bool { return i.flags&hasReading == 0 }

// unixNano is t.UnixNano, which is undefined outside of the years 1678 to 2262; there it is the
// nearer end of that span.
func unixNano(t time.Time) int64 {
	const limit = math.MaxInt64 / int64(time.Second)
	switch s := t.Unix(); {
	case s >= limit:
		return math.MaxInt64
	case s <= -limit:
		return math.MinInt64
	}
	return t.UnixNano()
}

// MonotonicSub returns how much time has passed since earlier by the monotonic clock alone: what
// has passed at least, where Sub is what may have passed at most. It is never negative, and 0 when
// i or earlier is the zero Instant. Waiting times that safety rests on are counted by it: a wall
// clock that is stepped forward does not shorten them.
func (i Instant) MonotonicSub(earlier Instant) time.Duration {
	if i.IsZero() || earlier.IsZero() {
		return 0
	}
	return time.Duration(max(0, sub(i.mono, earlier.mono)))
}

// steady is the signed difference by the clock that runs most evenly: boot time, which runs on
// while the machine sleeps, or the monotonic clock if there is no boot time.
func (i Instant) steady(earlier Instant) time.Duration {
	if i.flags&earlier.flags&hasBoot != 0 {
		return time.Duration(sub(i.boot, earlier.boot))
	}
	return time.Duration(sub(i.mono, earlier.mono))
}

package drift

import "time"

// Clock tells the time by three clocks.
//
// Now does not block and is safe for concurrent use. The Instants of one Clock
// may be subtracted from each other; those of different Clocks may not, except
// that System and Runtime share their origins.
type Clock interface {
	Now() Instant
}

// System returns the clock of this machine: Go's monotonic clock, boot time and the wall clock.
// Boot time is read on Linux and macOS; elsewhere, and where a sandbox forbids the system call,
// readings go without.
//
// A reading takes a tenth of a microsecond, and three times that once in 10 ms, when the system is
// asked for boot time. Inside a testing/synctest bubble System equals Runtime, because boot time is
// real there while all else is virtual.
func System() Clock { return systemClock{} }

// Runtime returns a clock that reads only Go's time package: monotonic and wall time, and no boot
// time. In a testing/synctest bubble the difference of two readings is exactly the virtual time
// between them. A reading from within a bubble must not be subtracted from one taken outside or in
// another bubble.
//
// Outside of a bubble prefer System: Runtime sees only by its wall clock that the machine slept.
func Runtime() Clock { return runtimeClock{} }

// base is the origin of monotonic readings. Package time shows its monotonic clock only in
// differences.
//
// In a bubble time.Now carries no monotonic reading (runtime/time.go), so that now.Sub(base) is
// there the difference of the virtual and the real wall clock: a large negative number, but one
// that grows by exactly the virtual time that passes. That is all that Instant.Sub needs.
var base = time.Now()

type runtimeClock struct{}

func (runtimeClock) Now() Instant { return readingOf(time.Now()) }

type systemClock struct{}

func (systemClock) Now() Instant {
	now := time.Now()
	i := readingOf(now)
	if isVirtual(now) {
		return i
	}
	if ns, ok := boot.at(i); ok {
		i.boot = ns
		i.flags |= hasBoot
	}
	return i
}

func readingOf(now time.Time) Instant {
	return Instant{mono: int64(now.Sub(base)), wall: unixNano(now), flags: hasReading}
}

// isVirtual reports whether now was read in a synctest bubble, known by its lack of a monotonic
// reading. Round(0) strips one, and == on the bare struct sees what Time.Equal overlooks.
func isVirtual(now time.Time) bool {
	type bare time.Time
	return bare(now) == bare(now.Round(0))
}

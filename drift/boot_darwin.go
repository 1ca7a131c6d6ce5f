package drift

import "golang.org/x/sys/unix"

// bootTime reads mach_continuous_time in nanoseconds, which runs on while the
// system is asleep. CLOCK_MONOTONIC does so too, but is adjusted and coarser. Go's
// own monotonic clock is mach_absolute_time, which stops in sleep.
func bootTime() (ns int64, ok bool) {
	var ts unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_MONOTONIC_RAW, &ts)
	return ts.Nano(), err == nil
}

//go:build !linux && !darwin

package drift

// bootTime has nothing to add here. On Windows and OpenBSD Go's monotonic clock counts the time
// asleep by itself. FreeBSD, NetBSD and DragonFly offer no second monotonic clock that counts what
// the first may leave out: FreeBSD's CLOCK_BOOTTIME is another name of CLOCK_MONOTONIC. There and
// elsewhere the wall clock, once it is set right on resume, is what counts sleep.
func bootTime() (ns int64, ok bool) { return 0, false }

// Package drift is the clock model of the lock library: how long a lock may
// be relied upon, and by which clock.
//
// # Validity
//
// A lock taken with a time to live (TTL) is kept by each master for that TTL
// by the master's own clock. Its holder may rely on it for
//
//	validity = TTL − elapsed − allowance
//
// where elapsed runs from before the first byte of the attempt was sent, and
// the allowance is what a [Policy] grants for the difference between the
// masters' clocks and ours. This is MIN_VALIDITY = TTL − (T2 − T1) −
// CLOCK_DRIFT of the Redis documentation, "Distributed Locks with Redis",
// sections "Is the Algorithm Asynchronous?" and "Safety Arguments":
// https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/
// The values of [Default], one percent and 2 ms, are those of the reference
// implementation, https://github.com/antirez/redlock-rb.
//
// # Three clocks
//
// Elapsed time is the difference of two [Instant] values. An Instant reads
// three clocks, because none of them alone sees every way in which a holder
// can lose time, and [Instant.Sub] takes the largest of their differences.
//
//   - The monotonic clock covers a process that stands still on a machine that
//     runs: SIGSTOP, a paused container, a long garbage collection, swapping,
//     an overloaded host. It also runs on evenly when the wall clock is
//     stepped back. On Linux and macOS it stops while the machine sleeps.
//   - Boot time covers a machine that sleeps: a laptop that is closed, suspend
//     and hibernation. On Linux it is CLOCK_BOOTTIME, which is the monotonic
//     clock "except that it also includes any time that the system is
//     suspended" (clock_gettime(2)). On macOS it is CLOCK_MONOTONIC_RAW
//     (clock_gettime(3)), which is mach_continuous_time. On Windows and
//     OpenBSD the monotonic clock itself counts sleep, so nothing is added.
//     On other systems the wall clock is what is left to see it.
//   - The wall clock covers what stops both: a virtual machine that is paused
//     and resumed, or migrated, whose own clocks may have stood still. It does
//     so from the moment on which something (the hypervisor's agent, NTP) has
//     set the wall clock right, and not earlier.
//
// Taking the largest means that every error is on the side of believing less:
// a wall clock that is stepped forward ends locks early, one that is stepped
// back changes nothing.
//
// Two plain readings do not show that the wall clock was stepped back between
// them and then forward, by less. [Cumulative] makes a Clock that counts each
// step forward by itself, as long as it is read often enough to meet the steps
// one by one.
//
// # What no clock covers
//
// A virtual machine that is reverted to a snapshot continues with the memory
// and with all three clocks of an earlier time: a lock that was valid then
// looks valid again, until the wall clock is set right. And no clock covers a
// pause between the last look at it and the action that the lock was to protect.
// Against both, only a fencing token that the protected resource checks helps.
//
// The masters' clocks are a matter of their own. A Policy covers clocks that
// run too fast or too slow, not clocks that are stepped. Mind that a time
// daemon may slew far beyond one percent: chrony by up to 8.3 percent, unless
// maxslewrate is set lower. A [Meter] tells when a master's clock has left the
// Policy, after the event.
//
// # Durations
//
// All durations are in nanoseconds, as always in Go. All arithmetic saturates
// at the limits of [time.Duration], about 292 years: nothing overflows.
package drift

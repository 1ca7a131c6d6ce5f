// Package redistest launches real redis-server processes on this machine: for
// tests, for benchmarks and for the demonstration's --spawn. It kills, stops,
// freezes and restarts them, so that a fault is the real fault and not a
// simulation of it.
//
// [Launch] starts one server, [LaunchN] several, and [Start] several for a test,
// which it skips where no redis-server is installed. Each server listens on a
// loopback port of its own, keeps its data in a temporary directory of its own
// and is gone, process and directory, after [Server.Close].
//
// The binary is the one that the environment variable REDIS_SERVER names, or
// redis-server on the PATH; see [Find]. Redis 5.0 or newer is expected, or a fork
// of it. Tests that need what some servers lack, such as ACL, are skipped there
// and say so: see [Feature].
//
// With [Config.MovableClock] a server's wall clock can be stepped while it runs,
// by [Server.SetClock]. That needs Linux and a C compiler; where there is none
// Start skips the test.
//
// On Linux a server dies with the process that launched it, also when that
// process is killed with SIGKILL; its temporary directory then stays behind.
// Elsewhere a server outlives a parent that is killed.
//
// Nothing here imports package testing, so the package may be linked into a
// command. Every call is bounded by its context or by the bounds of bounds.go,
// and everything is safe for concurrent use.
package redistest

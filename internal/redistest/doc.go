// Package redistest owns the real redis-server processes that tests, benchmarks and the
// demo's --spawn run on this machine. It starts, kills, stops, freezes and restarts them,
// so a fault is real and not simulated.
//
// [Launch] starts one server and [LaunchN] starts several. [Start] starts several for a
// test; it skips the test if no redis-server is installed. Each server has its own
// loopback port and its own temporary directory. [Server.Close] ends the process and
// removes the directory.
//
// The environment variable REDIS_SERVER names the binary; without it, redis-server on the
// PATH is used (see [Find]). It has to be Redis 5.0 or newer, or Valkey. If its version lacks
// a feature that a test needs, such as ACL, the test is skipped and says so (see [Feature]).
//
// With [Config.MovableClock], [Server.SetClock] changes a server's wall clock while it
// runs. This needs Linux and a C compiler; without them Start skips the test.
//
// On Linux a server ends with the process that launched it, even if that process is
// killed with SIGKILL; the temporary directory then remains. On other systems a server
// keeps running if its parent is killed.
//
// Nothing here imports package testing, so a command may link the package. Its context or
// the limits in bounds.go bound every call. Everything is safe for concurrent use.
package redistest

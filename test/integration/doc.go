// Package integration holds tests of the whole library on real masters, and
// nothing else: redis-server processes that are killed, frozen and restarted,
// and, where a Docker engine answers, containers with addresses of their own
// that are paused and cut off from the network as well.
//
// It is a module of its own, so that what it needs (dockertest, and another
// Redlock client to meet on the same keys) is no dependency of the library.
//
// Every test starts masters of its own and, at its end, asks whether anything
// was left behind: a key, a goroutine, a client that still works. The closing
// line of a run tells which of the two kinds of masters it was about.
//
// The variables that it heeds:
//
//	REDIS_SERVER              the redis-server to start (the one on the PATH)
//	REDQUORUM_REQUIRE_REDIS   1: to have none is a failure, not a reason to skip
//	REDIS_IMAGE               the image for containers; else redis:7.4-alpine or
//	                          the redquorum/redis:local of `make image`
package integration

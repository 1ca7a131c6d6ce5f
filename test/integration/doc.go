// Package integration tests the whole library on real masters: redis-server processes that are
// killed, frozen and restarted. One test does so to masters in containers, if a Docker engine
// answers. Package faults does so under load.
//
// It is a module of its own, so that what it needs is no dependency of the library: dockertest,
// and another Redlock client to meet on the same keys.
//
// Every test starts masters of its own and checks at its end that nothing is left behind: a key, a
// goroutine, a client that still works.
//
// Environment variables:
//
//	REDIS_SERVER              the redis-server to start (the one on the PATH)
//	REDQUORUM_REQUIRE_REDIS   1: to have none is a failure, not a reason to skip
//	REDIS_IMAGE               the image for the containers; else
//	                          redis:7.4-alpine or the redquorum/redis:local of `make image`
package integration

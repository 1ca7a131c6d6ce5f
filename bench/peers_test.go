package bench

import (
	"context"
	"time"
)

// ttl is the TTL of the locks of all libraries.
const ttl = 10 * time.Second

// A library is a lock client in the form that benchmarks and tests use.
type library struct {
	name string
	open func(urls []string) (peer, error)
}

// libraries are measured in this order by BenchmarkLockUnlock and BenchmarkHandOver.
var libraries = []library{
	{"redsync", openRedsync},
	{"redquorum", openRedquorum},
}

// Only BenchmarkLockUnlock measures these further peers.
var (
	redsyncFailFast = library{"redsync-failfast", openRedsyncFailFast}
	redsyncGoRedis  = library{"redsync-goredis", openRedsyncGoRedis}
	pipelined       = library{"pipelined", openPipelined}
	unguarded       = library{"redquorum-unguarded", openUnguarded}
	singleMaster    = library{"redislock", openRedislock}
	oneDeployment   = library{"rueidislock", openRueidislock}
)

// A peer is a library that has its masters.
type peer interface {
	// connect makes every connection that n goroutines need, and waits until
	// all masters have answered or ctx ends.
	connect(ctx context.Context, n int) error
	// worker returns what one goroutine uses to lock and unlock a key repeatedly.
	worker(key string) worker
	// close waits for all that the peer started.
	close() error
}

// A worker belongs to one goroutine.
type worker interface {
	// lock makes one attempt.
	lock(ctx context.Context) error
	unlock(ctx context.Context) error
}

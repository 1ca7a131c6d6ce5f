package bench

import (
	"context"
	"time"
)

// ttl is what the locks of all libraries ask for: their masters keep the key
// that long unless it is released.
const ttl = 10 * time.Second

// A library is a lock client in the form that benchmarks and tests use.
type library struct {
	name string
	open func(urls []string) (peer, error)
}

// libraries are measured in this order, by every benchmark.
var libraries = []library{
	{"redsync", openRedsync},
	{"redquorum", openRedquorum},
}

// Further peers, of which BenchmarkLockUnlock says more.
var (
	redsyncFailFast = library{"redsync-failfast", openRedsyncFailFast}
	redsyncGoRedis  = library{"redsync-goredis", openRedsyncGoRedis}
	pipelined       = library{"pipelined", openPipelined}
	unguarded       = library{"redquorum-unguarded", openUnguarded}
	singleMaster    = library{"redislock", openRedislock}
	oneDeployment   = library{"rueidislock", openRueidislock}
)

// A peer is a library that was given its masters.
type peer interface {
	// connect makes every connection that n goroutines need, and waits until
	// all masters have answered or ctx ends.
	connect(ctx context.Context, n int) error
	// worker is one goroutine's way to lock and unlock a key, again and again.
	worker(key string) worker
	// close waits for whatever the peer has running.
	close() error
}

// A worker belongs to one goroutine.
type worker interface {
	// lock makes one attempt.
	lock(ctx context.Context) error
	unlock(ctx context.Context) error
}

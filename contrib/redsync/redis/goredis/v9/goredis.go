// Package goredis makes the pools that redsync.New takes of go-redis clients.
package goredis

import (
	"github.com/redis/go-redis/v9"

	"github.com/redquorum/redquorum/contrib/redsync/internal/source"
	redsyncredis "github.com/redquorum/redquorum/contrib/redsync/redis"
)

// NewPool makes a pool of a go-redis client of one server. Its options say how to reach the
// master, see contrib/goredis. The client itself is not used. What cannot be a master is
// told by the first Lock.
func NewPool(delegate redis.UniversalClient) redsyncredis.Pool {
	return source.Master{UniversalClient: delegate}
}

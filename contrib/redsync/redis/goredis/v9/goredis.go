// Package goredis makes pools for redsync.New from go-redis clients.
package goredis

import (
	"github.com/redis/go-redis/v9"

	"github.com/redquorum/redquorum/contrib/redsync/internal/source"
	redsyncredis "github.com/redquorum/redquorum/contrib/redsync/redis"
)

// NewPool makes a pool of a go-redis client of one server. The client's options say how to
// reach the master (see contrib/goredis). The client itself is not used. If it cannot be a
// master, the first Lock returns an error.
func NewPool(delegate redis.UniversalClient) redsyncredis.Pool {
	return source.Master{UniversalClient: delegate}
}

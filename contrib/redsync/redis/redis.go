// Package redis has the type of the pools that redsync.New takes.
package redis

import "github.com/redquorum/redquorum/contrib/redsync/internal/source"

// A Pool leads to one master if NewPool of package redis/goredis/v9 made it, or to all
// masters of a redlock.Client if redsync.PoolOf made it. There are no others: a pool of
// redsync itself, or of its packages for redigo and rueidis, does not compile here.
type Pool interface{ source.Pool }

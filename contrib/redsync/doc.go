// Package redsync has the API and the package tree of github.com/go-redsync/redsync/v4, on
// top of this library. To move a program that uses redsync with go-redis, replace its import
// paths, and nothing else:
//
//	import (
//		"github.com/redquorum/redquorum/contrib/redsync"                  // was github.com/go-redsync/redsync/v4
//		"github.com/redquorum/redquorum/contrib/redsync/redis/goredis/v9" // was …/redsync/v4/redis/goredis/v9
//	)
//	…
//	rs := redsync.New(goredis.NewPool(client1), goredis.NewPool(client2), goredis.NewPool(client3))
//
// The options of the go-redis clients say how to reach the masters; the clients themselves
// are not used (see contrib/goredis). A program with other drivers, or one that wants
// options of package redlock, gives New the pool of its own redlock.Client ([PoolOf]).
//
// Names, methods, defaults and errors are those of redsync v4: a mutex is not
// renewed, ends by itself after WithExpiry (8 s), and Lock polls 32 times. The
// error types and sentinels are redsync's own, and errors that redsync does not wrap are
// not wrapped here: code that compares with ==, asserts a type or switches over types
// still works. Other errors match those of package redlock as well.
//
// Locks of this package and of redsync exclude each other on the same masters, so
// the programs of a fleet can move one at a time. The page Moving from redsync in the
// documentation says what differs, and what has to be done before the first one moves.
package redsync

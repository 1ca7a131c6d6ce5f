// Package redsync has the API of github.com/go-redsync/redsync/v4 over a client of
// this library. A program moves by one import and one constructor:
//
//	import "github.com/redquorum/redquorum/contrib/redsync"
//	…
//	client, err := redlock.Open(urls) // instead of one pool a master
//	…
//	rs := redsync.New(client)         // instead of redsync.New(pools...)
//
// Names, methods, defaults and errors are those of redsync v4: a mutex is not
// renewed, ends by itself after WithExpiry (8 s), and Lock polls 32 times. The
// error types and sentinels are redsync's own, and what redsync returns bare is
// returned bare: code that compares with ==, asserts a type or switches over types
// goes on to work. Other errors match those of package redlock as well.
//
// Locks of this package and of redsync exclude each other on the same masters, so
// the programs of a fleet can move one at a time. The page Moving from redsync in the
// documentation says what differs, and what has to be done before the first one moves.
package redsync

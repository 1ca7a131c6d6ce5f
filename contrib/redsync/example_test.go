package redsync_test

import (
	"fmt"
	"time"

	goredislib "github.com/redis/go-redis/v9"

	"github.com/redquorum/redquorum/contrib/redsync"
	"github.com/redquorum/redquorum/contrib/redsync/redis"
	"github.com/redquorum/redquorum/contrib/redsync/redis/goredis/v9"
	"github.com/redquorum/redquorum/redlock"
	"github.com/redquorum/redquorum/redlock/redlocktest"
)

// redsync's example for go-redis, with other import paths.
func Example() {
	urls, stop, err := redlocktest.Run(3) // redis://10.0.0.1:6379, …
	if err != nil {
		panic(err)
	}
	defer stop()
	var pools []redis.Pool
	for _, url := range urls {
		options, err := goredislib.ParseURL(url)
		if err != nil {
			panic(err)
		}
		pools = append(pools, goredis.NewPool(goredislib.NewClient(options)))
	}

	rs := redsync.New(pools...)
	defer func() { _ = rs.Close() }() // one method more than redsync's

	mutex := rs.NewMutex("test-redsync")

	if err = mutex.Lock(); err != nil {
		panic(err)
	}

	if _, err = mutex.Unlock(); err != nil {
		panic(err)
	}
	fmt.Println("locked and unlocked")
	// Output: locked and unlocked
}

// A client of package redlock, with its options: here for expiries of up to an hour.
func ExamplePoolOf() {
	urls, stop, err := redlocktest.Run(3) // redis://10.0.0.1:6379, …
	if err != nil {
		panic(err)
	}
	defer stop()
	client, err := redlock.Open(urls, redlock.WithMaxTTL(time.Hour))
	if err != nil {
		panic(err)
	}
	defer client.Close()

	mutex := redsync.New(redsync.PoolOf(client)).NewMutex("report", redsync.WithExpiry(30*time.Minute))
	fmt.Println(mutex.Lock())
	// Output: <nil>
}

package redsync_test

import (
	"fmt"

	"github.com/redquorum/redquorum/contrib/redsync"
	"github.com/redquorum/redquorum/redlock"
	"github.com/redquorum/redquorum/redlock/redlocktest"
)

// redsync's example, but for the lines that make the client.
func Example() {
	urls, stop, err := redlocktest.Run(3) // redis://10.0.0.1:6379, …
	if err != nil {
		panic(err)
	}
	defer stop()
	client, err := redlock.Open(urls)
	if err != nil {
		panic(err)
	}
	defer client.Close()

	rs := redsync.New(client)

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

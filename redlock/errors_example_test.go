package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/redquorum/redquorum/redlock"
)

// NodeErrors gives what each master said, without the type of another package.
func ExampleQuorumError_NodeErrors() {
	client, err := redlock.Open(masterURLs)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	ctx := context.Background()

	lock, err := client.Lock(ctx, "invoice:9")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = lock.Unlock(ctx) }()

	_, err = client.TryLock(ctx, "invoice:9")
	var failed *redlock.QuorumError
	if !errors.As(err, &failed) {
		log.Fatal(err)
	}
	held := 0
	for node := range failed.NodeErrors() {
		var by *redlock.Holder
		switch {
		case errors.As(node.Err, &by):
			held++ // by.Owner has it on node.Master
		case errors.Is(node.Err, redlock.ErrNotAwaited): // the others had decided
		default:
			log.Print(node) // what is wrong with this master
		}
	}
	fmt.Println("a majority says that it is held:", held >= failed.Need)
	// Output: a majority says that it is held: true
}

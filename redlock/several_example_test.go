package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/redquorum/redquorum/redlock"
)

func ExampleClient_LockAll() {
	client, err := redlock.Open(masterURLs)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	ctx := context.Background()

	// Both accounts or none, in whatever order others name them.
	lock, err := client.LockAll(ctx, []string{"account:7", "account:3"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(lock.Keys())
	if _, err := client.TryLock(ctx, "account:7"); errors.Is(err, redlock.ErrTaken) {
		fmt.Println("account:7 is taken")
	}
	if err := lock.Unlock(ctx); err != nil {
		log.Print(err) // the keys expire by themselves
	}
	// Output:
	// [account:3 account:7]
	// account:7 is taken
}

func ExampleClient_LockAny() {
	client, err := redlock.Open(masterURLs)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	ctx := context.Background()

	// A semaphore of two permits.
	permits := []string{"export:1", "export:2"}
	for range permits {
		lock, err := client.LockAny(ctx, permits)
		if err != nil {
			log.Fatal(err)
		}
		defer func() { _ = lock.Unlock(ctx) }()
	}
	if _, err := client.TryLockAny(ctx, permits); errors.Is(err, redlock.ErrTaken) {
		fmt.Println("two exports are running")
	}
	// Output: two exports are running
}

package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/redquorum/redquorum/redlock"
)

// An operator closes a fleet when all clients take every lock in the new one, too. It is
// not run here: it would close the masters of the other examples.
func ExampleClient_CloseFleet() {
	client, err := redlock.Open(masterURLs)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	after, err := redlock.Open([]string{"redis://10.0.1.1", "redis://10.0.1.2", "redis://10.0.1.3"})
	if err != nil {
		log.Fatal(err)
	}
	defer after.Close()

	closing, err := client.CloseFleet(context.Background(), after)
	if errors.Is(err, redlock.ErrNoQuorum) {
		log.Fatal("too few masters were told, run it again: ", err)
	}
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("use the new fleet alone after", closing.Until)
}

// A client that takes every lock in both fleets names the move, and goes on getting votes
// when the old fleet is closed.
func ExampleWithMovedTo() {
	client, err := redlock.Open(masterURLs, redlock.WithMovedTo("shards-of-2027"))
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	lock, err := client.TryLock(context.Background(), "invoice:7")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(lock.Key(), "is held")
	_ = lock.Unlock(context.Background())
	// Output: invoice:7 is held
}

// A move that was given up stands in the markers. The next one replaces it by force, when no
// client takes part in the first one any more. It is not run, as the one above.
func ExampleForceClose() {
	before, err := redlock.Open(masterURLs)
	if err != nil {
		log.Fatal(err)
	}
	defer before.Close()
	after, err := redlock.Open([]string{"redis://10.0.1.1", "redis://10.0.1.2", "redis://10.0.1.3"})
	if err != nil {
		log.Fatal(err)
	}
	defer after.Close()

	closing, err := before.CloseFleet(context.Background(), after, redlock.ForceClose())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("use the new fleet alone after", closing.Until)
}

package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/redquorum/redquorum/redlock"
	"github.com/redquorum/redquorum/redlock/redlocktest"
)

// A program fails at its start if its masters are misconfigured, and not with its first lock.
func ExampleClient_Ready() {
	client, err := redlock.Open(masterURLs)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := client.Ready(ctx); errors.Is(err, redlock.ErrNoQuorum) {
		log.Fatal(err) // which masters may not vote, and why
	}
	fmt.Println("a quorum may vote")
	// Output: a quorum may vote
}

// Masters says why masters do not vote: here a second client has another MaxTTL than the fleet.
func ExampleClient_Masters() {
	urls, stop, err := redlocktest.Run(3)
	if err != nil {
		log.Fatal(err)
	}
	defer stop()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	client, err := redlock.Open(urls)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	if err := client.Ready(ctx); err != nil {
		log.Fatal(err)
	}

	other, err := redlock.Open(urls, redlock.WithMaxTTL(time.Hour), redlock.WithLogger(nil))
	if err != nil {
		log.Fatal(err)
	}
	defer other.Close()
	_, err = other.TryLock(ctx, "key")
	fmt.Println(errors.Is(err, redlock.ErrNoQuorum))
	mine := 0
	for _, master := range other.Masters() {
		if !master.Votes && master.Why.Cause == "other configuration" {
			mine++ // Why.Value is the fleet's setting, Why.Want that of this client
		}
	}
	fmt.Println("the settings of this client are wrong:", mine >= 2)
	// Output:
	// true
	// the settings of this client are wrong: true
}

// A new fleet votes at once after Init. An operator or a script that sets up masters calls it; a
// program's start does not.
func ExampleClient_Init() {
	urls, stop, err := redlocktest.Run(3)
	if err != nil {
		log.Fatal(err)
	}
	defer stop()
	client, err := redlock.Open(urls, redlock.WithLogger(nil))
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()

	if err := client.Init(ctx); err != nil {
		log.Fatal(err) // names every master, and what its marker says
	}
	fmt.Println(client.Ready(ctx))
	// Output: <nil>
}

// The longest TTL of a fleet is changed while no client holds a lock. Then the masters do not vote
// until every lock with the old one has expired.
func ExampleClient_InitForce() {
	urls, stop, err := redlocktest.Run(3)
	if err != nil {
		log.Fatal(err)
	}
	defer stop()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	before, err := redlock.Open(urls)
	if err != nil {
		log.Fatal(err)
	}
	if err := before.Ready(ctx); err != nil {
		log.Fatal(err)
	}
	_ = before.Close()

	after, err := redlock.Open(urls, redlock.WithMaxTTL(2*time.Minute), redlock.WithLogger(nil))
	if err != nil {
		log.Fatal(err)
	}
	defer after.Close()
	fmt.Println("without force:", after.Init(ctx) != nil)
	fmt.Println("with force:", after.InitForce(ctx))
	// Output:
	// without force: true
	// with force: <nil>
}

package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// masterURLs are the masters of the examples: in a program, five servers.
var masterURLs []string

func Example() {
	client, err := redlock.Open(masterURLs)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	paid := make(map[string]bool) // in your program: the database
	for range 2 {
		err = client.Do(context.Background(), "invoice:42", func(ctx context.Context) error {
			if paid["42"] {
				return nil // a lock does not remember that the work was done: look, inside it
			}
			fmt.Println("charging") // ctx ends if the lock can no longer be guaranteed
			paid["42"] = true
			return nil
		})
		if err != nil {
			log.Fatal(err) // ErrNoQuorum: too few masters; ErrLost: lost on the way
		}
	}
	// Output: charging
}

func ExampleClient_TryLock() {
	client, err := redlock.Open(masterURLs)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	ctx := context.Background()

	lock, err := client.TryLock(ctx, "nightly-report")
	if err != nil {
		log.Fatal(err)
	}
	if _, err := client.TryLock(ctx, "nightly-report"); errors.Is(err, redlock.ErrTaken) {
		fmt.Println("somebody is at it")
	}
	if err := lock.Unlock(ctx); err != nil {
		log.Print(err) // the key expires by itself
	}
	// Output: somebody is at it
}

func ExampleLock_Context() {
	client, err := redlock.Open(masterURLs)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	lock, err := client.Lock(context.Background(), "leader", redlock.WithLease(50*time.Millisecond))
	if err != nil {
		log.Fatal(err)
	}
	<-lock.Context().Done() // work until then
	cause := context.Cause(lock.Context())
	fmt.Println(errors.Is(cause, redlock.ErrLost), cause)
	// Output: true redlock: lock "leader" lost: expired as planned (WithLease, MaxHold or MaxCount)
}

func ExampleClient_Adopt() {
	client, err := redlock.Open(masterURLs)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	ctx := context.Background()

	lock, err := client.Lock(ctx, "job:7")
	if err != nil {
		log.Fatal(err)
	}
	token, err := lock.HandOver() // to another process, with the job
	if err != nil {
		log.Fatal(err)
	}

	adopted, err := client.Adopt(ctx, "job:7", token)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(adopted.Token() == token) // it has one of its own
	fmt.Println(adopted.Unlock(ctx))
	// Output:
	// false
	// <nil>
}

func ExampleClient_Inspect() {
	client, err := redlock.Open(masterURLs, redlock.WithOwner("billing"))
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	ctx := context.Background()
	if err := client.Ready(ctx); err != nil { // the masters are connected
		log.Fatal(err)
	}

	before, err := client.Inspect(ctx, "invoice:7")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(before)
	lock, err := client.Lock(ctx, "invoice:7")
	if err != nil {
		log.Fatal(err)
	}
	during, err := client.Inspect(ctx, "invoice:7")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(during.Verdict, during.Holders[0].Owner)
	if err := lock.Unlock(ctx); err != nil {
		log.Print(err) // the key expires by itself
	}
	// Output:
	// free on 5 of 5
	// held by a quorum billing
}

func ExampleWithReentrancy() {
	client, err := redlock.Open(masterURLs)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	// book must hold the lock, whether or not its caller does.
	book := func(ctx context.Context, amount int) error {
		return client.Do(ctx, "account:7", func(context.Context) error {
			fmt.Println("booked", amount)
			return nil
		}, redlock.WithReentrancy())
	}
	err = client.Do(context.Background(), "account:7", func(ctx context.Context) error {
		return errors.Join(book(ctx, -5), book(ctx, 5))
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// booked -5
	// booked 5
}

// One of several processes does this work, for as long as it lives.
func ExampleClient_Lead() {
	client, err := redlock.Open(masterURLs)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	ctx := context.Background() // in a program: one that a signal ends

	err = client.Lead(ctx, "scheduler", func(ctx context.Context) error {
		fmt.Println("leading") // until ctx ends; here it steps down at once
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: leading
}

// At most three callers are inside, counted over all processes.
func ExampleClient_Semaphore() {
	client, err := redlock.Open(masterURLs)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	err = client.Semaphore("printers", 3).Do(context.Background(), func(ctx context.Context) error {
		permit, _ := redlock.FromContext(ctx)
		fmt.Println(strings.HasPrefix(permit.Key(), "printers#"))
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: true
}

// This caller has no time to wait; an HTTP handler, for instance.
func ExampleWithWait() {
	client, err := redlock.Open(masterURLs)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	ctx := context.Background() // of the request, say
	held, err := client.Lock(ctx, "cart:7")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = held.Unlock(ctx) }()

	_, err = client.Lock(ctx, "cart:7", redlock.WithWait(100*time.Millisecond))
	fmt.Println(errors.Is(err, redlock.ErrTaken), errors.Is(err, context.DeadlineExceeded), ctx.Err())
	// Output: true true <nil>
}

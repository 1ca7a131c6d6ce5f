package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// The context ends with the request, and with the lock.
func ExampleLock_WithContext() {
	client, err := redlock.Open(masterURLs)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	lock, err := client.Lock(context.Background(), "upload:3")
	if err != nil {
		log.Fatal(err)
	}

	request := context.Background()
	ctx, cancel := lock.WithContext(request)
	defer cancel()
	fmt.Println(ctx.Err())
	if err := lock.Unlock(context.Background()); err != nil {
		log.Print(err)
	}
	<-ctx.Done()
	fmt.Println(errors.Is(context.Cause(ctx), redlock.ErrUnlocked))
	// Output:
	// <nil>
	// true
}

// A lease ends by itself. Extend gives it another full TTL, as long as it is held.
func ExampleLock_Extend() {
	client, err := redlock.Open(masterURLs)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	ctx := context.Background()
	lock, err := client.Lock(ctx, "batch:5", redlock.WithLease(20*time.Second))
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = lock.Unlock(ctx) }()

	for range 3 { // portions of work
		if err := lock.Extend(ctx); errors.Is(err, redlock.ErrLost) {
			log.Fatal("stop: ", err)
		} // any other error: it is still held for what is Remaining
	}
	fmt.Println(lock.Remaining() > 10*time.Second, time.Until(lock.ValidUntil()) > 10*time.Second)
	// Output: true true
}

// withContext returns a context that ends with the caller's and with the lock, and a function that
// releases the lock, as WithContext of rueidislock does.
func withContext(ctx context.Context, c *redlock.Client, name string) (context.Context, context.CancelFunc, error) {
	lock, err := c.Lock(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	held, cancel := lock.WithContext(ctx)
	return held, func() { cancel(); _ = lock.Unlock(context.WithoutCancel(ctx)) }, nil
}

func ExampleLock_WithContext_rueidislock() {
	client, err := redlock.Open(masterURLs)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	ctx, release, err := withContext(context.Background(), client, "report")
	if err != nil {
		log.Fatal(err)
	}
	_, err = client.TryLock(context.Background(), "report")
	fmt.Println(ctx.Err(), errors.Is(err, redlock.ErrTaken))
	release()
	_, err = client.TryLock(context.Background(), "report")
	fmt.Println(ctx.Err(), err)
	// Output:
	// <nil> true
	// context canceled <nil>
}

// Ask the masters once more before a step that cannot be undone.
func ExampleLock_Verify() {
	client, err := redlock.Open(masterURLs)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	ctx := context.Background()
	lock, err := client.Lock(ctx, "transfer:9")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("still held:", lock.Verify(ctx) == nil)
	if err := lock.Unlock(ctx); err != nil {
		log.Print(err)
	}
	err = lock.Verify(ctx)
	fmt.Println(errors.Is(err, redlock.ErrNotHeld), errors.Is(err, redlock.ErrUnlocked))
	// Output:
	// still held: true
	// true true
}

// The error of Unlock shows whether the work can be trusted.
func ExampleLock_Unlock() {
	client, err := redlock.Open(masterURLs)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	lock, err := client.Lock(context.Background(), "order:2")
	if err != nil {
		log.Fatal(err)
	}
	switch err := lock.Unlock(context.Background()); {
	case err == nil:
		fmt.Println("released")
	case errors.Is(err, redlock.ErrLost):
		fmt.Println("somebody else may have been at it: is the work right?")
	case errors.Is(err, redlock.ErrNoQuorum):
		fmt.Println("the key expires by itself, and the work is right")
	}
	// Output: released
}

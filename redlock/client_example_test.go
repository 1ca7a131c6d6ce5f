package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"time"

	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

// A program sets the defaults of all its locks; each call may set another TTL.
func ExampleOpen() {
	client, err := redlock.Open(masterURLs,
		redlock.WithTTL(5*time.Second),    // how long a lock outlives a holder that is gone
		redlock.WithMaxTTL(time.Minute),   // of the fleet: the same for every client
		redlock.WithOwner("billing-7"),    // for whoever asks who holds a lock
		redlock.WithKeyPrefix("billing:"), // before every key in Redis
		redlock.WithOutageWait(time.Second),
		redlock.WithLogger(slog.New(slog.NewTextHandler(os.Stderr, nil))),
	)
	if err != nil {
		log.Fatal(err) // an option or a URL is wrong: Open asks no master
	}
	defer client.Close()

	err = client.Do(context.Background(), "invoice:44", func(ctx context.Context) error {
		lock, _ := redlock.FromContext(ctx)
		fmt.Println(lock.Key(), lock.Remaining() <= 5*time.Second)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: invoice:44 true
}

// Two clients share connections, which the program closes after both.
func ExampleNew() {
	connections, err := pool.New(masterURLs, pool.WithCommandTimeout(time.Second))
	if err != nil {
		log.Fatal(err)
	}
	defer connections.Close()
	plain, err := redlock.New(connections)
	if err != nil {
		log.Fatal(err)
	}
	defer plain.Close()
	fencing, err := redlock.New(connections, redlock.WithFencing())
	if err != nil {
		log.Fatal(err)
	}
	defer fencing.Close()

	ctx := context.Background()
	lock, err := fencing.Lock(ctx, "stock:1")
	if err != nil {
		log.Fatal(err)
	}
	_, err = plain.TryLock(ctx, "stock:1")
	fmt.Println(lock.Fence() > 0, errors.Is(err, redlock.ErrTaken))
	_ = lock.Unlock(ctx)
	// Output: true true
}

// Each kind of error needs another reaction of the caller.
func ExampleClient_Lock() {
	client, err := redlock.Open(masterURLs)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	// The context bounds the waiting, not the holding.
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	lock, err := client.Lock(ctx, "report:7")
	switch {
	case errors.Is(err, redlock.ErrTaken):
		log.Fatal("somebody else has it for longer than we wait: ", err)
	case errors.Is(err, redlock.ErrNoQuorum):
		log.Fatal("too few masters, page someone: ", err)
	case err != nil:
		log.Fatal("the call itself is wrong: ", err)
	}
	fmt.Println("held, and renewed until Unlock:", lock.Key())
	if err := lock.Unlock(context.Background()); err != nil {
		log.Print(err) // the key expires by itself
	}
	// Output: held, and renewed until Unlock: report:7
}

func ExampleClient_TryLockAny() {
	client, err := redlock.Open(masterURLs)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	ctx := context.Background()

	taken, err := client.Lock(ctx, "printer:1")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = taken.Unlock(ctx) }()
	free, err := client.TryLockAny(ctx, []string{"printer:1", "printer:2"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("printing on", free.Key())
	_ = free.Unlock(ctx)
	// Output: printing on printer:2
}

// Close ends what the client holds, so a program that has to stop loses no time over it.
func ExampleClient_Close() {
	client, err := redlock.Open(masterURLs)
	if err != nil {
		log.Fatal(err)
	}
	lock, err := client.Lock(context.Background(), "leader:eu")
	if err != nil {
		log.Fatal(err)
	}
	if err := client.Close(); err != nil {
		log.Print(err)
	}
	cause := context.Cause(lock.Context())
	fmt.Println(errors.Is(cause, redlock.ErrLost), errors.Is(cause, redlock.ErrClosed))
	// Output: true true
}

func ExampleClient_Stats() {
	client, err := redlock.Open(masterURLs)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	ctx := context.Background()
	lock, err := client.Lock(ctx, "job:8")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = lock.Unlock(ctx) }()

	stats := client.Stats()
	fmt.Println(stats.Held, "held,", stats.Waiting, "waiting,", stats.Need, "of", len(stats.Masters), "needed")
	// Output: 1 held, 0 waiting, 3 of 5 needed
}

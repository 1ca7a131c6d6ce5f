package fleets_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/redquorum/redquorum/redlock"
	"github.com/redquorum/redquorum/redlock/fleets"
)

// firstURLs and secondURLs are the masters of the examples: in a program, three or five
// servers each.
var firstURLs, secondURLs []string

func open(urls []string) *redlock.Client {
	c, err := redlock.Open(urls)
	if err != nil {
		log.Fatal(err)
	}
	return c
}

// Keys are spread over two fleets.
func ExampleSharded() {
	shards, err := fleets.Sharded(map[string]fleets.Locker{
		"a": fleets.One(open(firstURLs)),
		"b": fleets.One(open(secondURLs)),
	})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = shards.Close() }()

	err = shards.Do(context.Background(), "invoice:42", func(context.Context) error {
		fmt.Println("charging, under a lock of shard", shards.Shard("invoice:42"))
		return nil
	})
	if f, ok := errors.AsType[*fleets.FleetError](err); ok {
		log.Fatal("trouble in fleet ", f.Fleet, ": ", err)
	}
	// Output: charging, under a lock of shard b
}

// Keys of both shards are taken as one.
func ExampleShards_LockAll() {
	shards, err := fleets.Sharded(map[string]fleets.Locker{
		"a": fleets.One(open(firstURLs)),
		"b": fleets.One(open(secondURLs)),
	})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = shards.Close() }()
	ctx := context.Background()

	hold, err := shards.LockAll(ctx, []string{"account:1", "account:2"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("both are held:", hold.Context().Err() == nil)
	if err := hold.Unlock(ctx); err != nil {
		log.Print(err) // the keys expire by themselves
	}
	// Output: both are held: true
}

// While clients are moved to other masters, every lock is taken in both fleets.
func ExampleMoving() {
	before, after := open(firstURLs), open(secondURLs)
	locks, err := fleets.Moving(fleets.One(before), fleets.One(after))
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = locks.Close() }()
	ctx := context.Background()

	hold, err := locks.Lock(ctx, "invoice:42")
	if err != nil {
		log.Fatal(err)
	}
	for _, client := range []*redlock.Client{before, after} {
		if _, err := client.TryLock(ctx, "invoice:42"); errors.Is(err, redlock.ErrTaken) {
			fmt.Println("taken")
		}
	}
	if err := hold.Unlock(ctx); err != nil {
		log.Print(err)
	}
	// Output:
	// taken
	// taken
}

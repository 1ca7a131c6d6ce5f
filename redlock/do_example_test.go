package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/redquorum/redquorum/redlock"
)

func ExampleClient_Do() {
	client, err := redlock.Open(masterURLs)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	err = client.Do(context.Background(), "invoice:43", func(ctx context.Context) error {
		lock, _ := redlock.FromContext(ctx) // where the work needs its facts
		fmt.Println("charging under the lock", lock.Key())
		return ctx.Err() // nil: the lock was ours all the time
	})
	fmt.Println(err)
	// Output:
	// charging under the lock invoice:43
	// <nil>
}

// Every host starts this job at midnight, and one of them runs it.
func ExampleClient_TryDo() {
	client, err := redlock.Open(masterURLs)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	job := func(ctx context.Context) error {
		err := client.TryDo(ctx, "cleanup", func(context.Context) error {
			fmt.Println("cleaning up")
			return nil
		})
		if errors.Is(err, redlock.ErrTaken) {
			fmt.Println("skipped: another host is at it")
			return nil
		}
		return err
	}

	other, err := client.Lock(context.Background(), "cleanup") // as another host would
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(job(context.Background()))
	if err := other.Unlock(context.Background()); err != nil {
		log.Print(err) // the key expires by itself
	}
	fmt.Println(job(context.Background()))
	// Output:
	// skipped: another host is at it
	// <nil>
	// cleaning up
	// <nil>
}

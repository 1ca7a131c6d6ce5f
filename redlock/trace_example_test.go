package redlock_test

import (
	"context"
	"fmt"
	"log"

	"github.com/redquorum/redquorum/redlock"
)

// The traces print what a client does, as it happens, and count how often it held a lock.
func ExampleWithTrace() {
	holds := 0
	counts := &redlock.Trace{Released: func(redlock.ReleasedInfo) { holds++ }}
	events := &redlock.Trace{
		Attempt: func(i redlock.AttemptInfo) { fmt.Println("attempt", i.Attempt, "on", i.Key, "failed:", i.Err != nil) },
		Held: func(ctx context.Context, l *redlock.Lock) context.Context {
			fmt.Println("held", l.Key())
			return ctx
		},
		Released: func(i redlock.ReleasedInfo) { fmt.Println("ended", i.Key+", lost:", i.Lost != nil) },
	}
	client, err := redlock.Open(masterURLs, redlock.WithTrace(redlock.JoinTraces(events, counts)))
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	err = client.Do(context.Background(), "invoice:45", func(context.Context) error { return nil })
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("holds:", holds)
	// Output:
	// held invoice:45
	// attempt 1 on invoice:45 failed: false
	// ended invoice:45, lost: false
	// holds: 1
}

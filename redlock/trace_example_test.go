package redlock_test

import (
	"context"
	"fmt"
	"log"

	"github.com/redquorum/redquorum/redlock"
	"github.com/redquorum/redquorum/redlock/metrics"
)

// What a client does, as it happens, beside metrics of the same.
func ExampleWithTrace() {
	recorder := metrics.New()
	events := &redlock.Trace{
		Attempt: func(i redlock.AttemptInfo) { fmt.Println("attempt", i.Attempt, "on", i.Key, "failed:", i.Err != nil) },
		Held: func(ctx context.Context, i redlock.HeldInfo) context.Context {
			fmt.Println("held", i.Key)
			return ctx
		},
		Released: func(i redlock.ReleasedInfo) { fmt.Println("ended", i.Key+":", i.End) },
	}
	client, err := redlock.Open(masterURLs, redlock.WithTrace(redlock.JoinTraces(events, recorder.Trace())))
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	err = client.Do(context.Background(), "invoice:45", func(context.Context) error { return nil })
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// held invoice:45
	// attempt 1 on invoice:45 failed: false
	// ended invoice:45: unlocked
}

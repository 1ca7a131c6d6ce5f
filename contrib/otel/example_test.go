package redlockotel_test

import (
	"context"
	"fmt"
	"log"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	redlockotel "github.com/redquorum/redquorum/contrib/otel"
	"github.com/redquorum/redquorum/redlock"
	"github.com/redquorum/redquorum/redlock/redlocktest"
)

func Example() {
	urls, stop, err := redlocktest.Run(3) // redis://10.0.0.1:6379, …
	if err != nil {
		log.Fatal(err)
	}
	defer stop()
	exporter := tracetest.NewInMemoryExporter() // otlptracegrpc.New(ctx) in earnest
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))

	telemetry, err := redlockotel.New(redlockotel.WithTracerProvider(provider))
	if err != nil {
		log.Fatal(err)
	}
	client, err := redlock.Open(urls, redlock.WithTrace(telemetry.Trace()))
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	if err := telemetry.Observe(client); err != nil {
		log.Fatal(err)
	}

	err = client.Do(context.Background(), "invoice:42", func(context.Context) error { return nil })
	if err != nil {
		log.Fatal(err)
	}
	for _, span := range exporter.GetSpans() { // in the order of their ends
		if span.Name != "redlock.attempt" && span.Name != "redlock.wait" { // it tries as often as it must
			fmt.Println(span.Name)
		}
	}
	// Output:
	// redlock.acquire
	// redlock.hold
	// redlock.unlock
}

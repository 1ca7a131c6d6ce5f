// A program as a user would write it, for scripts/release-check.sh: it uses all
// modules that a release publishes, on masters inside the process.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/prometheus/client_golang/prometheus"

	redlockotel "github.com/redquorum/redquorum/contrib/otel"
	redlockprom "github.com/redquorum/redquorum/contrib/prometheus"
	"github.com/redquorum/redquorum/contrib/redsync"
	"github.com/redquorum/redquorum/redlock"
	"github.com/redquorum/redquorum/redlock/redlocktest"
)

func main() {
	urls, stop, err := redlocktest.Run(3)
	if err != nil {
		log.Fatal(err)
	}
	defer stop()

	collector := redlockprom.New()
	telemetry, err := redlockotel.New()
	if err != nil {
		log.Fatal(err)
	}
	client, err := redlock.Open(urls, redlock.WithTrace(redlock.JoinTraces(collector.Trace(), telemetry.Trace())))
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	collector.Observe(client)
	if err := telemetry.Observe(client); err != nil {
		log.Fatal(err)
	}

	err = client.Do(context.Background(), "invoice:42", func(ctx context.Context) error {
		fmt.Println("locked invoice:42")
		return ctx.Err()
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("counted by client_golang:", holds(collector))

	mutex := redsync.New(client).NewMutex("invoice:43")
	if err := mutex.Lock(); err != nil {
		log.Fatal(err)
	}
	if ok, err := mutex.Unlock(); !ok {
		log.Fatal(err)
	}
	fmt.Println("locked invoice:43 as redsync does")
}

// holds is how many holds the collector tells of.
func holds(collector prometheus.Collector) uint64 {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collector)
	families, err := registry.Gather()
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "redlock_hold_seconds" {
			return f.GetMetric()[0].GetHistogram().GetSampleCount()
		}
	}
	log.Fatal("no redlock_hold_seconds")
	return 0
}

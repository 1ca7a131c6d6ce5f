// This is a program as users would write it, for scripts/release-check.sh. It uses all
// modules that a release publishes, on masters inside the process.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/redquorum/redquorum/contrib/goredis"
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
	mutex := redsync.New(redsync.PoolOf(client)).NewMutex("invoice:43")
	if err := mutex.Lock(); err != nil {
		log.Fatal(err)
	}
	if ok, err := mutex.Unlock(); !ok {
		log.Fatal(err)
	}
	fmt.Println("locked invoice:43 as redsync does")
	if err := client.Close(); err != nil {
		log.Fatal(err)
	}
	withClients(urls)
	if n := holds(collector); n != 2 {
		log.Fatalf("client_golang has counted %d holds, want 2", n)
	}
}

func withClients(urls []string) {
	var clients []redis.UniversalClient
	for _, url := range urls {
		o, err := redis.ParseURL(url)
		if err != nil {
			log.Fatal(err)
		}
		clients = append(clients, redis.NewClient(o))
	}
	client, err := goredis.Open(clients)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	if _, err := client.Lock(context.Background(), "invoice:44"); err != nil {
		log.Fatal(err)
	}
	fmt.Println("locked invoice:44 on the masters of go-redis clients")
}

// holds is how many holds the collector has counted, however they ended.
func holds(collector prometheus.Collector) (n uint64) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collector)
	families, err := registry.Gather()
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "redlock_hold_seconds" {
			for _, m := range f.GetMetric() {
				n += m.GetHistogram().GetSampleCount()
			}
		}
	}
	return n
}

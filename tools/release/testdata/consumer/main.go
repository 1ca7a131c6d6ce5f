// A program as a user would write it, for scripts/release-check.sh: it uses all
// modules that a release publishes, on masters inside the process.
package main

import (
	"context"
	"fmt"
	"log"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	redlockotel "github.com/redquorum/redquorum/contrib/otel"
	redlockprom "github.com/redquorum/redquorum/contrib/prometheus"
	"github.com/redquorum/redquorum/contrib/redsync"
	"github.com/redquorum/redquorum/redlock"
	"github.com/redquorum/redquorum/redlock/redlocktest"
)

func main() {
	masters := &masters{}
	defer masters.end()
	urls := redlocktest.Start(masters, 3)

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

// masters is as much of a test as redlocktest asks for.
type masters struct {
	testing.TB
	ends []func()
}

func (m *masters) Helper()                           {}
func (m *masters) Cleanup(f func())                  { m.ends = append(m.ends, f) }
func (m *masters) Fatalf(format string, args ...any) { log.Fatalf(format, args...) }

func (m *masters) end() {
	for _, f := range m.ends {
		f()
	}
}

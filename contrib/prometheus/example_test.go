package redlockprom_test

import (
	"context"
	"fmt"
	"log"

	"github.com/prometheus/client_golang/prometheus"

	redlockprom "github.com/redquorum/redquorum/contrib/prometheus"
	"github.com/redquorum/redquorum/redlock"
	"github.com/redquorum/redquorum/redlock/redlocktest"
)

func Example() {
	urls, stop, err := redlocktest.Run(3) // redis://10.0.0.1:6379, …
	if err != nil {
		log.Fatal(err)
	}
	defer stop()

	collector := redlockprom.New()
	client, err := redlock.Open(urls, redlock.WithTrace(collector.Trace()))
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	collector.Observe(client)
	registry := prometheus.NewRegistry() // or prometheus.DefaultRegisterer
	registry.MustRegister(collector)

	err = client.Do(context.Background(), "invoice:42", func(context.Context) error { return nil })
	if err != nil {
		log.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "redlock_hold_seconds" {
			n := uint64(0)
			for _, m := range f.GetMetric() { // one for each way in which a hold can end
				n += m.GetHistogram().GetSampleCount()
			}
			fmt.Println(f.GetName(), n)
		}
	}
	// Output: redlock_hold_seconds 1
}

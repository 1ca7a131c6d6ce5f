package metrics_test

import (
	"context"
	"log"
	"net/http"

	"github.com/redquorum/redquorum/redlock"
	"github.com/redquorum/redquorum/redlock/metrics"
)

// Metrics without any dependency: the recorder answers scrapes by itself.
func Example() {
	recorder := metrics.New()
	client, err := redlock.Open([]string{"redis://10.0.0.1:6379", "redis://10.0.0.2:6379", "redis://10.0.0.3:6379"},
		redlock.WithTrace(recorder.Trace()))
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	recorder.Observe(client)

	mux := http.NewServeMux()
	mux.Handle("/metrics", recorder)
	server := &http.Server{Addr: "127.0.0.1:9121", Handler: mux}
	defer server.Shutdown(context.Background()) //nolint:errcheck // the program ends
}

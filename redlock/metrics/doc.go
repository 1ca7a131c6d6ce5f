// Package metrics counts what a client does, for Prometheus, and writes it in
// the text format that Prometheus reads. It depends on nothing beyond the
// standard library; the collector of contrib/prometheus exports the same
// metrics through client_golang. docs/reference/metrics.md lists them.
//
//	recorder := metrics.New()
//	client, err := redlock.Open(urls, redlock.WithTrace(recorder.Trace()))
//	…
//	recorder.Observe(client) // the masters' connections as well
//	http.Handle("/metrics", recorder)
//
// To count costs some atomic additions a lock, and no allocation. Keys are no
// labels: there may be any number of them. [WithClasses] counts by what sort of
// lock it is.
package metrics

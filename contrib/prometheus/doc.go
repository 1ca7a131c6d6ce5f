// Package redlockprom exports what a redlock client does through client_golang,
// under the same names as package redlock/metrics writes them by itself.
// docs/reference/metrics.md lists them.
//
//	collector := redlockprom.New()
//	client, err := redlock.Open(urls, redlock.WithTrace(collector.Trace()))
//	…
//	collector.Observe(client) // the masters' connections as well
//	prometheus.MustRegister(collector)
//
// A collector is for one client. Where a program has several, each gets a
// collector of its own, registered with a label that tells them apart
// (prometheus.WrapRegistererWith).
package redlockprom

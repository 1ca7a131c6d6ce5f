// Package redlockprom counts what a redlock client does, and exports it to Prometheus through
// client_golang.
//
//	collector := redlockprom.New()
//	client, err := redlock.Open(urls, redlock.WithTrace(collector.Trace()))
//	…
//	collector.Observe(client) // the masters' connections as well
//	prometheus.MustRegister(collector)
//
// A collector is for one client. If a program has several clients, give each its own collector,
// registered with a label that distinguishes them (prometheus.WrapRegistererWith).
//
// Keys are no labels, because there may be any number of them. [WithClasses] counts by classes
// of keys.
package redlockprom

// Package redlockprom counts what a redlock client does, and exports it to Prometheus through
// client_golang.
//
//	collector := redlockprom.New()
//	client, err := redlock.Open(urls, redlock.WithTrace(collector.Trace()))
//	…
//	collector.Observe(client) // the masters' connections as well
//	prometheus.MustRegister(collector)
//
// A collector is for one client. Where a program has several, each gets a collector of its
// own, registered with a label that tells them apart (prometheus.WrapRegistererWith).
//
// Keys are no labels: there may be any number of them. [WithClasses] counts by what sort of
// lock it is.
package redlockprom

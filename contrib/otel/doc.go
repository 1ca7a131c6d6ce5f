// Package redlockotel makes OpenTelemetry spans and metrics from what a redlock
// client does.
//
//	telemetry, err := redlockotel.New()
//	…
//	client, err := redlock.Open(urls, redlock.WithTrace(telemetry.Trace()))
//	…
//	err = telemetry.Observe(client) // the masters' connections as well
//
// A call that waits for a lock is a span below the caller's, with a span for each
// attempt and each pause. The hold has a separate span with a link to the call,
// because it may outlive the call. The span of the release links to the hold.
// Tokens are never exported: with a token anybody can release the lock.
package redlockotel

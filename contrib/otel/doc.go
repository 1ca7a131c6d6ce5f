// Package redlockotel makes OpenTelemetry spans and metrics of what a redlock
// client does.
//
//	telemetry, err := redlockotel.New()
//	…
//	client, err := redlock.Open(urls, redlock.WithTrace(telemetry.Trace()))
//	…
//	err = telemetry.Observe(client) // the masters' connections as well
//
// A call that waits for a lock is a span below the caller's, with a span for
// each attempt and each pause. The hold is a span of its own, linked to that,
// since it may outlive the call that acquired it; the release links to the hold.
// Tokens are never exported: whoever knows one can release the lock.
package redlockotel

package redlockotel

import (
	"fmt"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/redquorum/redquorum/redlock"
)

const scope = "github.com/redquorum/redquorum/contrib/otel"

// Attribute keys of spans and metrics.
const (
	keyKey       = attribute.Key("redlock.key")
	keyKeys      = attribute.Key("redlock.keys")
	keyOp        = attribute.Key("redlock.operation")
	keyOnce      = attribute.Key("redlock.once")
	keyResult    = attribute.Key("redlock.result")
	keyAttempt   = attribute.Key("redlock.attempt")
	keyAttempts  = attribute.Key("redlock.attempts")
	keyAgreed    = attribute.Key("redlock.masters.agreed")
	keyNeeded    = attribute.Key("redlock.masters.needed")
	keyMaster    = attribute.Key("redlock.master")
	keyLatency   = attribute.Key("redlock.latency")
	keyHolder    = attribute.Key("redlock.holder")
	keyRenewals  = attribute.Key("redlock.renewals")
	keyRemaining = attribute.Key("redlock.remaining")
	keyEnd       = attribute.Key("redlock.end")
	keyReason    = attribute.Key("redlock.reason")
	keyError     = attribute.Key("redlock.error")
)

// An Option sets something for Telemetry.
type Option func(*options)

type options struct {
	tracers trace.TracerProvider
	meters  metric.MeterProvider
	keyName func(string) string
}

// WithTracerProvider sets where spans go; by default to the global provider.
func WithTracerProvider(p trace.TracerProvider) Option { return func(o *options) { o.tracers = p } }

// WithMeterProvider sets where metrics go; by default to the global provider.
func WithMeterProvider(p metric.MeterProvider) Option { return func(o *options) { o.meters = p } }

// WithKeyNames sets what spans contain instead of a key that should stay secret, such as a
// part of it or a hash. The default is the key. Metrics never have keys.
func WithKeyNames(name func(key string) string) Option { return func(o *options) { o.keyName = name } }

// Telemetry makes spans and metrics of what one client does. It is safe for
// concurrent use.
type Telemetry struct {
	tracer  trace.Tracer
	meter   metric.Meter
	keyName func(string) string
	instruments
}

// New makes the instruments. The error is the meter's.
func New(opts ...Option) (*Telemetry, error) {
	o := options{
		tracers: otel.GetTracerProvider(),
		meters:  otel.GetMeterProvider(),
		keyName: func(key string) string { return key },
	}
	for _, opt := range opts {
		opt(&o)
	}
	t := &Telemetry{tracer: o.tracers.Tracer(scope), meter: o.meters.Meter(scope), keyName: o.keyName}
	if err := t.make(t.meter); err != nil {
		return nil, fmt.Errorf("redlockotel: %w", err)
	}
	return t, nil
}

// Trace returns the trace to give to the client (redlock.WithTrace). redlock.JoinTraces
// joins it with others.
func (t *Telemetry) Trace() *redlock.Trace {
	return redlock.JoinTraces(t.spans(), t.counts())
}

package redlockotel

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/redquorum/redquorum/redlock"
)

// instruments are the instruments that events update.
type instruments struct {
	waiting, holding           metric.Int64UpDownCounter
	attempts, renewals, losses metric.Int64Counter
	waits, holds, unlocks      metric.Float64Histogram
}

// Upper bounds of the buckets, in seconds.
var (
	waitBounds  = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}
	holdBounds  = []float64{.001, .005, .01, .05, .1, .5, 1, 5, 10, 30, 60, 300, 1800, 3600, 21600}
	replyBounds = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5}
)

func (m *instruments) make(meter metric.Meter) error {
	var errs []error
	upDown := func(to *metric.Int64UpDownCounter, name, unit, what string) {
		var err error
		*to, err = meter.Int64UpDownCounter(name, metric.WithUnit(unit), metric.WithDescription(what))
		errs = append(errs, err)
	}
	counter := func(to *metric.Int64Counter, name, unit, what string) {
		var err error
		*to, err = meter.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(what))
		errs = append(errs, err)
	}
	seconds := func(to *metric.Float64Histogram, name, what string, bounds []float64) {
		var err error
		*to, err = meter.Float64Histogram(name, metric.WithUnit("s"),
			metric.WithDescription(what), metric.WithExplicitBucketBoundaries(bounds...))
		errs = append(errs, err)
	}
	upDown(&m.waiting, "redlock.waiting", "{call}", "Calls that acquire a lock and have not returned yet.")
	upDown(&m.holding, "redlock.held", "{lock}", "Locks that are held.")
	counter(&m.attempts, "redlock.attempts", "{attempt}", "Attempts to acquire a lock, by result.")
	counter(&m.renewals, "redlock.renewals", "{renewal}", "Renewals of held locks, by result.")
	counter(&m.losses, "redlock.losses", "{lock}",
		"Locks that were lost, by reason; leases that ended are not among them.")
	seconds(&m.waits, "redlock.wait.duration",
		"Time that calls took to acquire the lock or to give up, by result.", waitBounds)
	seconds(&m.holds, "redlock.hold.duration", "Time that locks were held, by how that ended.", holdBounds)
	seconds(&m.unlocks, "redlock.unlock.duration", "Time that Unlock took, by result.", replyBounds)
	return errors.Join(errs...)
}

func (t *Telemetry) counts() *redlock.Trace {
	return &redlock.Trace{
		Begin: func(ctx context.Context, _ redlock.BeginInfo) context.Context {
			t.waiting.Add(ctx, 1)
			return nil
		},
		Wait: func(i redlock.WaitInfo) {
			t.waiting.Add(i.Context, -1)
			t.waits.Record(i.Context, i.Waited.Seconds(), with(keyResult.String(acquireResult(i.Err))))
		},
		Attempt: func(i redlock.AttemptInfo) {
			t.attempts.Add(i.Context, 1, with(keyResult.String(acquireResult(i.Err))))
		},
		Held: func(ctx context.Context, _ *redlock.Lock) context.Context {
			t.holding.Add(ctx, 1)
			return nil
		},
		Released: func(i redlock.ReleasedInfo) {
			t.holding.Add(i.Context, -1)
			t.holds.Record(i.Context, i.Held.Seconds(), with(keyEnd.String(holdEnd(&i))))
		},
		Renewal: func(i redlock.ExtendInfo) {
			t.renewals.Add(i.Context, 1, with(keyResult.String(renewalResult(i.Err))))
		},
		Lost: func(_ *redlock.Lock, err *redlock.LostError) {
			if !err.Planned {
				t.losses.Add(context.Background(), 1, with(keyReason.String(string(err.Reason))))
			}
		},
		Unlock: func(i redlock.UnlockInfo) {
			t.unlocks.Record(i.Context, i.Elapsed.Seconds(), with(keyResult.String(unlockResult(i.Err))))
		},
	}
}

func with(attrs ...attribute.KeyValue) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(attrs...))
}

// Observe also exports the state of the client's masters, until the meter provider shuts
// down. Call it once, with the client that has the trace. The error is the meter's.
func (t *Telemetry) Observe(c *redlock.Client) error {
	connected, err1 := t.meter.Int64ObservableGauge("redlock.master.connected",
		metric.WithUnit("1"), metric.WithDescription("Whether the master is connected: 1 or 0."))
	roundTrip, err2 := t.meter.Float64ObservableGauge("redlock.master.round_trip",
		metric.WithUnit("s"), metric.WithDescription("Moving average of the round trip to the master."))
	replies, err3 := t.meter.Int64ObservableCounter("redlock.master.replies",
		metric.WithUnit("{reply}"),
		metric.WithDescription("The master's parts in operations on locks, by result; "+
			"timeout came after the operation's deadline."))
	dropped, err4 := t.meter.Int64ObservableCounter("redlock.events.dropped",
		metric.WithUnit("{event}"),
		metric.WithDescription("Log lines and events of traces dropped "+
			"because a log handler or a trace is slow or blocks."))
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return err
	}
	_, err := t.meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		stats := c.Stats()
		o.ObserveInt64(dropped, int64(stats.EventsDropped)) //nolint:gosec // it is no more than there is time for
		for i := range stats.Masters {
			m := &stats.Masters[i]
			up := int64(0)
			if m.Connected {
				up = 1
			}
			o.ObserveInt64(connected, up, with(keyMaster.String(m.Name)))
			o.ObserveFloat64(roundTrip, m.RoundTrip.Seconds(), with(keyMaster.String(m.Name)))
			results := map[string]uint64{
				"agreed": m.Agreed, "refused": m.Refused, "failed": m.Failed, "timeout": m.TimedOut,
			}
			for result, n := range results {
				of := with(keyMaster.String(m.Name), keyResult.String(result))
				o.ObserveInt64(replies, int64(n), of) //nolint:gosec // as above
			}
		}
		return nil
	}, connected, roundTrip, replies, dropped)
	return err
}

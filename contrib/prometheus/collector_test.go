package redlockprom_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	redlockprom "github.com/redquorum/redquorum/contrib/prometheus"
	"github.com/redquorum/redquorum/redlock"
	"github.com/redquorum/redquorum/redlock/metrics"
	"github.com/redquorum/redquorum/redlock/redlocktest"
)

// work has a client do a bit of everything and close, and registers a collector of it.
func work(t *testing.T, opts ...metrics.Option) (*metrics.Recorder, *prometheus.Registry) {
	t.Helper()
	recorder := metrics.New(opts...)
	collector := redlockprom.Over(recorder)
	renewed := make(chan struct{}, 1)
	client, err := redlock.Open(redlocktest.Start(t, 3), redlock.WithLogger(nil), redlock.WithTrace(redlock.JoinTraces(collector.Trace(), &redlock.Trace{
		Renewal: func(redlock.RenewalInfo) {
			select {
			case renewed <- struct{}{}:
			default:
			}
		},
	})))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close() // nothing counts on
	collector.Observe(client)
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(collector)

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	l, err := client.Lock(ctx, "invoice:1", redlock.WithTTL(5*time.Second), redlock.WithRenewal(redlock.Renewal{Every: 20 * time.Millisecond}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.TryLock(ctx, "invoice:1"); !errors.Is(err, redlock.ErrTaken) {
		t.Fatal(err)
	}
	select {
	case <-renewed:
	case <-ctx.Done():
		t.Fatal("no renewal")
	}
	if err := errors.Join(l.Extend(ctx), l.Unlock(ctx)); err != nil {
		t.Fatal(err)
	}
	leased, err := client.Lock(ctx, "invoice:2", redlock.WithLease(500*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	<-leased.Context().Done()
	return recorder, registry
}

// The names, types, units and help texts are what Prometheus wants of them.
func TestPromlintFindsNothing(t *testing.T) {
	for name, opts := range map[string][]metrics.Option{
		"one class": nil, "classes": {metrics.WithClasses(func(key string) string { return key[:1] })},
	} {
		_, registry := work(t, opts...)
		problems, err := testutil.GatherAndLint(registry)
		if err != nil || len(problems) != 0 {
			t.Errorf("%s: %v, %v", name, problems, err)
		}
	}
}

// What the recorder writes by itself is what the collector exports: the same
// families, to the last value, as Prometheus's own parser reads them.
func TestTheTextWithoutClientGolangIsTheSame(t *testing.T) {
	for name, opts := range map[string][]metrics.Option{
		"one class": nil, "classes": {metrics.WithClasses(func(key string) string { return `"` + key + "\\\n" })},
	} {
		recorder, registry := work(t, opts...)
		var text strings.Builder
		if _, err := recorder.WriteTo(&text); err != nil {
			t.Fatal(err)
		}
		parser := expfmt.NewTextParser(model.LegacyValidation)
		written, err := parser.TextToMetricFamilies(strings.NewReader(text.String()))
		if err != nil {
			t.Fatalf("%s: %v in\n%s", name, err, text.String())
		}
		exported, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		if len(written) != len(exported) || len(exported) < 15 {
			t.Errorf("%s: %d families are written, %d exported", name, len(written), len(exported))
		}
		for _, want := range exported {
			if got := inText(t, written[want.GetName()]); got != inText(t, want) {
				t.Errorf("%s: written\n%swant\n%s", name, got, inText(t, want))
			}
		}
	}
}

// inText is a family as client_golang writes it, its lines in order.
func inText(t *testing.T, f *dto.MetricFamily) string {
	t.Helper()
	if f == nil {
		return "nothing\n"
	}
	var b strings.Builder
	if _, err := expfmt.MetricFamilyToText(&b, f); err != nil {
		t.Fatal(err)
	}
	lines := slices.Sorted(strings.Lines(b.String()))
	return strings.Join(lines, "")
}

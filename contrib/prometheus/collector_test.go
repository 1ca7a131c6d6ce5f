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

// work has a client do a bit of everything, on five masters of which one ends
// up dead, and registers a collector of it.
func work(t *testing.T, opts ...metrics.Option) (*redlockprom.Collector, *prometheus.Registry, *redlock.Client) {
	t.Helper()
	cluster := redlocktest.StartCluster(t, 5)
	collector := redlockprom.New(opts...)
	renewed := make(chan struct{}, 1)
	client, err := redlock.Open(cluster.URLs(), redlock.WithLogger(nil), redlock.WithTrace(redlock.JoinTraces(collector.Trace(), &redlock.Trace{
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
	t.Cleanup(func() { _ = client.Close() })
	collector.Observe(client)
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(collector)

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := client.Ready(ctx); err != nil {
		t.Fatal(err)
	}
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
	cluster.Kill(4)
	await(t, "the client misses the master", func() bool {
		return !client.Masters(ctx)[4].Connected
	})
	return collector, registry, client
}

func await(t *testing.T, what string, met func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !met(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within 30 s: %s", what)
		}
	}
}

func gather(t *testing.T, registry *prometheus.Registry) map[string]*dto.MetricFamily {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	byName := make(map[string]*dto.MetricFamily)
	for _, f := range families {
		byName[f.GetName()] = f
	}
	return byName
}

// value is that of the metric with the labels, given as name, value, …; of a
// histogram its count; -1 where there is none.
func value(t *testing.T, registry *prometheus.Registry, name string, labels ...string) float64 {
	t.Helper()
	f := gather(t, registry)[name]
	for _, m := range f.GetMetric() {
		var got []string
		for _, l := range m.GetLabel() {
			got = append(got, l.GetName(), l.GetValue())
		}
		if !slices.Equal(got, labels) {
			continue
		}
		switch {
		case m.Counter != nil:
			return m.GetCounter().GetValue()
		case m.Gauge != nil:
			return m.GetGauge().GetValue()
		default:
			return float64(m.GetHistogram().GetSampleCount())
		}
	}
	return -1
}

func TestRealLocksShowInTheMetrics(t *testing.T) {
	_, registry, client := work(t)
	reports := client.Masters(t.Context())
	up, down := reports[0].Master, reports[4].Master
	for _, want := range []struct {
		name   string
		labels []string
		value  float64
	}{
		{"redlock_held", nil, 0},
		{"redlock_waiting", nil, 0},
		{"redlock_attempts_total", []string{"result", "acquired"}, 2},
		{"redlock_attempts_total", []string{"result", "taken"}, 1},
		{"redlock_attempts_total", []string{"result", "no_quorum"}, 0},
		{"redlock_contended_total", nil, 1},
		{"redlock_wait_seconds", []string{"result", "acquired"}, 2},
		{"redlock_hold_seconds", []string{"end", "unlocked"}, 1},
		{"redlock_hold_seconds", []string{"end", "planned"}, 1}, // a lease
		{"redlock_hold_seconds", []string{"end", "lost"}, -1},
		{"redlock_losses_total", []string{"reason", "expired"}, 0},
		{"redlock_unlock_seconds", []string{"result", "released"}, 1},
		{"redlock_extensions_total", []string{"op", "extend", "result", "ok"}, 1},
		{"redlock_renewals_total", []string{"result", "lost"}, 0},
		{"redlock_quorum_masters", nil, 3},
		{"redlock_master_connected", []string{"master", up}, 1},
		{"redlock_master_connected", []string{"master", down}, 0},
	} {
		if got := value(t, registry, want.name, want.labels...); got != want.value {
			t.Errorf("%s %v is %v: want %v", want.name, want.labels, got, want.value)
		}
	}
	// A refusal may be decided before a master was asked for the third attempt.
	if n := value(t, registry, "redlock_master_replies_total", "master", up, "op", "lock", "result", "agreed"); n != 2 {
		t.Errorf("%v grants of a master", n)
	}
	if value(t, registry, "redlock_renewals_total", "result", "ok")+value(t, registry, "redlock_renewals_total", "result", "failed") < 1 {
		t.Error("no renewal is counted")
	}
	if n := value(t, registry, "redlock_master_commands_total", "master", up); n < 5 {
		t.Errorf("%v commands to a master", n)
	}
}

// The names, types, units and help texts are what Prometheus wants of them.
func TestPromlintFindsNothing(t *testing.T) {
	for name, opts := range map[string][]metrics.Option{
		"one class": nil, "classes": {metrics.WithClasses(func(key string) string { return key[:1] })},
	} {
		_, registry, _ := work(t, opts...)
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
		recorder := metrics.New(opts...)
		collector := redlockprom.Over(recorder)
		cluster := redlocktest.StartCluster(t, 3)
		client, err := redlock.Open(cluster.URLs(), redlock.WithTrace(collector.Trace()), redlock.WithLogger(nil))
		if err != nil {
			t.Fatal(err)
		}
		collector.Observe(client)
		registry := prometheus.NewPedanticRegistry()
		registry.MustRegister(collector)
		for range 20 {
			l, err := client.Lock(t.Context(), "key")
			if err != nil {
				t.Fatal(err)
			}
			_, _ = client.TryLock(t.Context(), "key")
			_ = l.Unlock(t.Context())
		}
		_ = client.Close() // nothing counts on

		var text strings.Builder
		if _, err := recorder.WriteTo(&text); err != nil {
			t.Fatal(err)
		}
		parser := expfmt.NewTextParser(model.LegacyValidation)
		written, err := parser.TextToMetricFamilies(strings.NewReader(text.String()))
		if err != nil {
			t.Fatalf("%s: %v in\n%s", name, err, text.String())
		}
		exported := gather(t, registry)
		if len(written) != len(exported) || len(exported) < 15 {
			t.Errorf("%s: %d families are written, %d exported", name, len(written), len(exported))
		}
		for family, want := range exported {
			if got := inText(t, written[family]); got != inText(t, want) {
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

package alerts

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/prometheus/model/labels"

	redlockprom "github.com/redquorum/redquorum/contrib/prometheus"
	"github.com/redquorum/redquorum/internal/testutil/masters"
	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

// scrapeEvery is how often Prometheus reads a program and evaluates rules. Its default is a
// minute; 15 s is usual.
const scrapeEvery = 15 * time.Second

// A sample is the value of a series at a time since the beginning.
type sample struct {
	series labels.Labels
	at     time.Duration
	value  float64
}

// A world is five masters in a bubble of virtual time, and a program that is scraped. The
// program holds one lock for as long as it can, and locks and unlocks another once a second.
type world struct {
	*masters.Bubble
	client  *redlock.Client
	samples []sample // needs mu

	mu   sync.Mutex
	gone bool // it cannot be scraped any more; needs mu
}

// record runs a world for length. A minute passes before it calls fault.
func record(t *testing.T, length time.Duration, fault func(t *testing.T, w *world)) (samples []sample) {
	t.Helper()
	masters.InBubble(t, 5, func(t *testing.T, b *masters.Bubble) {
		began := time.Now()
		collector := redlockprom.New()
		client, err := redlock.Open(b.URLs(), redlock.WithLogger(nil), redlock.WithTrace(collector.Trace()), redlock.WithPool(pool.WithDialer(b.Dialer())))
		if err != nil {
			t.Fatal(err)
		}
		collector.Observe(client)
		registry := prometheus.NewPedanticRegistry()
		registry.MustRegister(collector)
		w := &world{Bubble: b, client: client}
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { w.hold(ctx) })
		running.Go(func() { w.work(ctx) })
		running.Go(func() { w.scrape(ctx, registry, began) })
		time.Sleep(time.Minute)
		fault(t, w)
		time.Sleep(time.Until(began.Add(length)))
		cancel()
		running.Wait()
		if err := client.Close(); err != nil {
			t.Log(err) // masters are down
		}
		samples = w.samples
	})
	return samples
}

func (w *world) hold(ctx context.Context) {
	for ctx.Err() == nil {
		l, err := w.client.Lock(ctx, "held")
		if err != nil {
			pause(ctx, time.Second)
			continue
		}
		select {
		case <-l.Context().Done():
		case <-ctx.Done():
		}
	}
}

func (w *world) work(ctx context.Context) {
	for ctx.Err() == nil {
		_ = w.client.Do(ctx, "work", func(context.Context) error { return nil })
		pause(ctx, time.Second)
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

func (w *world) scrape(ctx context.Context, from prometheus.Gatherer, began time.Time) {
	for ; ctx.Err() == nil; pause(ctx, scrapeEvery) {
		w.mu.Lock()
		at, up := time.Since(began), 0.0
		if !w.gone {
			up = 1
			w.read(from, at)
		}
		w.samples = append(w.samples, sample{of("up"), at, up})
		w.mu.Unlock()
	}
}

// of names a series of the program.
func of(name string, more ...string) labels.Labels {
	return labels.FromStrings(append([]string{"__name__", name, "job", "job", "instance", "host:1"}, more...)...)
}

// read adds the samples that Prometheus would read. The caller must hold mu.
func (w *world) read(from prometheus.Gatherer, at time.Duration) {
	families, err := from.Gather()
	if err != nil {
		w.T.Error(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			add := func(suffix string, value float64, more ...string) {
				for _, l := range m.GetLabel() {
					more = append(more, l.GetName(), l.GetValue())
				}
				w.samples = append(w.samples, sample{of(f.GetName()+suffix, more...), at, value})
			}
			switch f.GetType() {
			case dto.MetricType_COUNTER:
				add("", m.GetCounter().GetValue())
			case dto.MetricType_HISTOGRAM:
				h := m.GetHistogram()
				for _, b := range h.GetBucket() {
					add("_bucket", float64(b.GetCumulativeCount()), "le", bound(b.GetUpperBound()))
				}
				add("_bucket", float64(h.GetSampleCount()), "le", "+Inf")
				add("_sum", h.GetSampleSum())
				add("_count", float64(h.GetSampleCount()))
			default:
				add("", m.GetGauge().GetValue())
			}
		}
	}
}

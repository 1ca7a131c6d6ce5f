package redlockprom

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/redquorum/redquorum/redlock"
	"github.com/redquorum/redquorum/redlock/metrics"
)

// A Collector is a prometheus.Collector of what one client does. It is safe for
// concurrent use.
type Collector struct {
	recorder *metrics.Recorder
	descs    map[string]*prometheus.Desc
}

var _ prometheus.Collector = (*Collector)(nil)

// New makes a collector that has counted nothing. The options are those of
// metrics.New.
func New(opts ...metrics.Option) *Collector { return Over(metrics.New(opts...)) }

// Over makes a collector of what a recorder counts.
func Over(recorder *metrics.Recorder) *Collector {
	c := &Collector{recorder: recorder, descs: make(map[string]*prometheus.Desc)}
	for _, d := range recorder.Descs() {
		c.descs[d.Name] = prometheus.NewDesc(d.Name, d.Help, d.Labels, nil)
	}
	return c
}

// Trace is what the client has to be given (redlock.WithTrace); redlock.JoinTraces
// joins others to it.
func (c *Collector) Trace() *redlock.Trace { return c.recorder.Trace() }

// Observe has the collector export what the client knows of its masters, as
// metrics.Recorder.Observe does.
func (c *Collector) Observe(client *redlock.Client) { c.recorder.Observe(client) }

// Describe implements prometheus.Collector.
func (c *Collector) Describe(descs chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		descs <- d
	}
}

// Collect implements prometheus.Collector. It asks no master.
func (c *Collector) Collect(out chan<- prometheus.Metric) {
	for _, f := range c.recorder.Gather() {
		for i := range f.Samples {
			out <- metric(c.descs[f.Name], &f, &f.Samples[i])
		}
	}
}

func metric(desc *prometheus.Desc, f *metrics.Family, s *metrics.Sample) prometheus.Metric {
	var m prometheus.Metric
	var err error
	if h := s.Histogram; h != nil {
		buckets := make(map[float64]uint64, len(h.Buckets))
		for _, b := range h.Buckets {
			buckets[b.UpperBound] = b.Count
		}
		m, err = prometheus.NewConstHistogram(desc, h.Count, h.Sum, buckets, s.Labels...)
	} else {
		kind := prometheus.GaugeValue
		if f.Type == metrics.Counter {
			kind = prometheus.CounterValue
		}
		m, err = prometheus.NewConstMetric(desc, kind, s.Value, s.Labels...)
	}
	if err != nil {
		return prometheus.NewInvalidMetric(desc, err) // the scrape names it
	}
	return m
}

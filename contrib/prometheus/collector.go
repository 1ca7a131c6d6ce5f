package redlockprom

import (
	"strings"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/redquorum/redquorum/redlock"
)

// A Collector counts what one client does, and implements prometheus.Collector. It is safe for
// concurrent use.
type Collector struct {
	classOf func(key string) string // nil: there is only one class
	only    *class                  // the class if classOf is nil
	locks   *lockMetrics

	client atomic.Pointer[redlock.Client]

	mu      sync.Mutex // guards what follows
	classes map[string]*class
}

var _ prometheus.Collector = (*Collector)(nil)

// An Option sets something for a Collector.
type Option func(*Collector)

// MaxClasses is how many classes are counted separately. Further classes are counted together
// as [OtherClass].
const (
	MaxClasses = 200
	OtherClass = "other"
)

// WithClasses counts locks by class: every metric about locks gets the label class, with the
// result of classOf for the key (for the first of several). It is called for every event, by
// any number of goroutines. It should return few different values, such as the part of the key
// before a colon.
func WithClasses(classOf func(key string) string) Option {
	return func(c *Collector) { c.classOf = classOf }
}

// New makes a collector that has counted nothing.
func New(opts ...Option) *Collector {
	c := &Collector{classes: make(map[string]*class)}
	for _, opt := range opts {
		opt(c)
	}
	if c.classOf == nil {
		c.locks = newLockMetrics(nil)
		c.only = c.locks.class(nil)
	} else {
		c.locks = newLockMetrics([]string{"class"})
	}
	return c
}

// Observe makes the collector also export what the client knows of its masters. Without it the
// collector only exports the events of the trace. A later call replaces the client. The client
// may be closed while it is observed.
func (c *Collector) Observe(client *redlock.Client) {
	c.client.Store(client)
}

func (c *Collector) class(key string) *class {
	if c.classOf == nil {
		return c.only
	}
	name := strings.ToValidUTF8(c.classOf(key), "?") // as label values have to be
	c.mu.Lock()
	defer c.mu.Unlock()
	of := c.classes[name]
	if of == nil && len(c.classes) >= MaxClasses {
		name = OtherClass
		of = c.classes[name]
	}
	if of == nil {
		of = c.locks.class(prometheus.Labels{"class": name})
		c.classes[name] = of
	}
	return of
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(descs chan<- *prometheus.Desc) {
	for _, of := range c.locks.all() {
		of.Describe(descs)
	}
	for i := range observed {
		descs <- observed[i].desc
	}
	descs <- roundTrips
}

// Collect implements prometheus.Collector. It asks no master.
func (c *Collector) Collect(out chan<- prometheus.Metric) {
	for _, of := range c.locks.all() {
		of.Collect(out)
	}
	client := c.client.Load()
	if client == nil {
		return
	}
	v := view{client.Stats(), client.Masters()}
	for i := range observed {
		observed[i].collect(&v, func(value float64, labels ...string) {
			out <- prometheus.MustNewConstMetric(observed[i].desc, observed[i].kind, value, labels...)
		})
	}
	for i := range v.stats.Masters {
		collectRoundTrips(out, &v.stats.Masters[i])
	}
}

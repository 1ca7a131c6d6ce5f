package redlockprom

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/redquorum/redquorum/redlock"
)

// A Collector counts what one client does, and is a prometheus.Collector of it. It is safe for
// concurrent use.
type Collector struct {
	classOf func(key string) string // nil: there is one class
	only    *class                  // that one
	locks   *lockMetrics
	replies *prometheus.CounterVec
	latency *prometheus.HistogramVec

	client  atomic.Pointer[redlock.Client]
	masters sync.Map // address → *master

	mu      sync.Mutex // guards what follows
	classes map[string]*class
}

var _ prometheus.Collector = (*Collector)(nil)

// An Option sets something for a Collector.
type Option func(*Collector)

// MaxClasses is how many classes are told apart; further ones are counted together as
// [OtherClass].
const (
	MaxClasses = 200
	OtherClass = "other"
)

// WithClasses counts locks by class: every metric about locks gets the label class, with what
// classOf makes of the key (of the first of several). Any number of goroutines call it, for
// every event. Let it return few different values, such as the part of the key before a colon.
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
	c.replies = counter("redlock_master_replies_total",
		"The master's parts in operations on locks, by operation and result; timeout came after the operation's deadline.", "master", "op", "result")
	c.latency = histogram("redlock_master_reply_seconds",
		"Time from a question to the master's reply, also to one that came after the decision.", replyBounds, "master")
	return c
}

// Observe has the collector export what the client knows of its masters: until then only what
// the trace has told is there. The last client that was given counts. It may be closed while
// it is observed.
func (c *Collector) Observe(client *redlock.Client) {
	c.client.Store(client)
	for _, m := range client.Masters(context.Background()) {
		c.master(m.Master) // its series are there before the first reply
	}
}

// class gives the counts of a key's class.
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

// A master is what one master's replies are counted in: by operation and result.
type master struct {
	replies map[string]counters
	latency prometheus.Observer
}

// master gives the counts of a master.
func (c *Collector) master(address string) *master {
	if m, ok := c.masters.Load(address); ok {
		return m.(*master)
	}
	m := &master{replies: make(map[string]counters), latency: c.latency.WithLabelValues(address)}
	for _, op := range replyOps {
		m.replies[op] = each(c.replies.MustCurryWith(prometheus.Labels{"master": address, "op": op}), replyResults)
	}
	stored, _ := c.masters.LoadOrStore(address, m)
	return stored.(*master)
}

// Operations of which masters have a part, and what became of it. New operations are other.
var (
	replyOps     = []string{"lock", "extend", "adopt", "verify", "unlock", "inspect", "downgrade", otherOp}
	replyResults = []string{"agreed", "refused", "failed", "timeout"}
)

const otherOp = "other"

func (c *Collector) reply(i redlock.ReplyInfo) {
	m := c.master(i.Master)
	op, known := m.replies[i.Op]
	if !known {
		op = m.replies[otherOp]
	}
	if i.Expired {
		op.inc("timeout")
	} else {
		op.inc(i.Result.String())
	}
	if i.Sent {
		m.latency.Observe(i.Latency.Seconds())
	}
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(descs chan<- *prometheus.Desc) {
	for _, of := range append(c.locks.all(), c.replies, c.latency) {
		of.Describe(descs)
	}
	for i := range observed {
		descs <- observed[i].desc
	}
}

// Collect implements prometheus.Collector. It asks no master.
func (c *Collector) Collect(out chan<- prometheus.Metric) {
	for _, of := range append(c.locks.all(), c.replies, c.latency) {
		of.Collect(out)
	}
	client := c.client.Load()
	if client == nil {
		return
	}
	v := view{client.Stats(), client.Masters(context.Background())}
	for i := range observed {
		observed[i].collect(&v, func(value float64, labels ...string) {
			out <- prometheus.MustNewConstMetric(observed[i].desc, observed[i].kind, value, labels...)
		})
	}
}

package redlockprom

import (
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Upper bounds of the buckets, in seconds.
var (
	waitBounds  = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}
	holdBounds  = []float64{.001, .005, .01, .05, .1, .5, 1, 5, 10, 30, 60, 300, 1800, 3600, 21600}
	replyBounds = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5}
)

func gauge(name, help string, labels ...string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
}

func counter(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

func histogram(name, help string, bounds []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: bounds}, labels)
}

type lockMetrics struct {
	waiting, held                           *prometheus.GaugeVec
	attempts, retries, contended            *prometheus.CounterVec
	reentered, renewals, extensions, losses *prometheus.CounterVec
	waits, holds, renewing, unlocks         *prometheus.HistogramVec
}

// newLockMetrics makes the metrics, with these labels before their own.
func newLockMetrics(before []string) *lockMetrics {
	with := func(labels ...string) []string { return slices.Concat(before, labels) }
	return &lockMetrics{
		waiting:  gauge("redlock_waiting", "Calls that acquire a lock and have not returned yet.", with()...),
		held:     gauge("redlock_held", "Locks that are held.", with()...),
		attempts: counter("redlock_attempts_total", "Attempts to acquire a lock, by result.", with("result")...),
		retries: counter("redlock_retries_total",
			"Pauses between two attempts of a call, by what the first one failed for.", with("reason")...),
		contended: counter("redlock_contended_total",
			"Calls that needed more than one attempt, or gave up because the lock was taken.", with()...),
		reentered: counter("redlock_reentered_total",
			"Calls that were let in because their context held the lock.", with()...),
		waits: histogram("redlock_wait_seconds", "Time that calls took to acquire the lock or to give up, by result.",
			waitBounds, with("result")...),
		holds: histogram("redlock_hold_seconds", "Time that locks were held, by how that ended.",
			holdBounds, with("end")...),
		renewals: counter("redlock_renewals_total", "Renewals of held locks, by result; failed ones are tried again.",
			with("result")...),
		renewing: histogram("redlock_renewal_seconds", "Time from the start of a renewal to its decision.",
			replyBounds, with()...),
		extensions: counter("redlock_extensions_total", "Extend and Verify by the holder, by result.",
			with("op", "result")...),
		losses: counter("redlock_losses_total",
			"Locks that were lost, by reason; closed is the program's own doing. "+
				"Leases that ended are not among them.",
			with("reason")...),
		unlocks: histogram("redlock_unlock_seconds",
			"Time that Unlock took, by result; unconfirmed releases are sent later or expire.",
			replyBounds, with("result")...),
	}
}

func (m *lockMetrics) all() []prometheus.Collector {
	return []prometheus.Collector{
		m.waiting, m.held, m.attempts, m.retries, m.contended, m.reentered, m.waits, m.holds,
		m.renewals, m.renewing, m.extensions, m.losses, m.unlocks,
	}
}

// A class has the series of the locks of one class. All series start with 0: otherwise the
// first event would be no increase.
type class struct {
	waiting, held         prometheus.Gauge
	contended, reentered  prometheus.Counter
	attempts, retries     counters
	renewals, losses      counters
	extensions            map[string]counters // by operation
	renewing              prometheus.Observer
	waits, holds, unlocks observers
}

// class makes the series of a class; the labels name it.
func (m *lockMetrics) class(of prometheus.Labels) *class {
	c := &class{
		waiting: m.waiting.With(of), held: m.held.With(of),
		contended: m.contended.With(of), reentered: m.reentered.With(of),
		attempts:   each(m.attempts.MustCurryWith(of), callResults),
		retries:    each(m.retries.MustCurryWith(of), retryReasons),
		renewals:   each(m.renewals.MustCurryWith(of), keepResults),
		losses:     each(m.losses.MustCurryWith(of), lossReasons),
		renewing:   m.renewing.With(of),
		waits:      eachTimed(m.waits.MustCurryWith(of), callResults),
		holds:      eachTimed(m.holds.MustCurryWith(of), holdEnds),
		unlocks:    eachTimed(m.unlocks.MustCurryWith(of), unlockResults),
		extensions: make(map[string]counters),
	}
	for _, op := range extendOps {
		c.extensions[op] = each(m.extensions.MustCurryWith(of).MustCurryWith(prometheus.Labels{"op": op}), keepResults)
	}
	return c
}

// counters are the series of a metric by the value of its last label, and observers are those
// of a histogram. Other values are not counted.
type (
	counters  map[string]prometheus.Counter
	observers map[string]prometheus.Observer
)

func each(of *prometheus.CounterVec, values []string) counters {
	all := make(counters)
	for _, v := range values {
		all[v] = of.WithLabelValues(v)
	}
	return all
}

func eachTimed(of prometheus.ObserverVec, values []string) observers {
	all := make(observers)
	for _, v := range values {
		all[v] = of.WithLabelValues(v)
	}
	return all
}

func (c counters) inc(value string) {
	if of := c[value]; of != nil {
		of.Inc()
	}
}

func (o observers) observe(value string, d time.Duration) {
	if of := o[value]; of != nil {
		of.Observe(d.Seconds())
	}
}

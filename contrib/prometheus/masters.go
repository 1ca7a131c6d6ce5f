package redlockprom

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

// A view is what an observed client knows at one instant.
type view struct {
	stats   redlock.Stats
	reports []redlock.MasterReport
}

// An observedMetric is read from an observed client at each collection.
type observedMetric struct {
	desc    *prometheus.Desc
	kind    prometheus.ValueType
	collect func(v *view, emit func(value float64, labels ...string))
}

var observed = []observedMetric{
	ofClient("redlock_quorum_masters", "Masters that make a quorum.",
		prometheus.GaugeValue, func(s *redlock.Stats) float64 { return float64(s.Need) }),
	ofClient("redlock_fencing_tokens_total", "Acquisitions and adoptions that came to a fencing token.",
		prometheus.CounterValue, func(s *redlock.Stats) float64 { return float64(s.FencingTokens) }),
	ofClient("redlock_fencing_second_rounds_total", "Fencing tokens that took a second round to be stored on a quorum.",
		prometheus.CounterValue, func(s *redlock.Stats) float64 { return float64(s.FencingRaises) }),
	ofClient("redlock_events_dropped_total",
		"Log lines and events of traces dropped because a log handler or a trace is slow or blocks.",
		prometheus.CounterValue, func(s *redlock.Stats) float64 { return float64(s.EventsDropped) }),
	ofMaster("redlock_master_connected", "Whether the master is connected: 1 or 0.",
		func(r *redlock.MasterReport) (float64, bool) { return truth(r.Connected), true }),
	ofMaster("redlock_master_votes", "Whether the master's answers count: 1 or 0.",
		func(r *redlock.MasterReport) (float64, bool) { return truth(r.Votes), true }),
	ofMaster("redlock_master_grants", "Whether the master takes the writes of locks, as far as is known: 1 or 0.",
		func(r *redlock.MasterReport) (float64, bool) { return truth(r.Grants), true }),
	ofMaster("redlock_master_quarantine_seconds",
		"For how much longer the master may not vote because it may have forgotten locks.",
		func(r *redlock.MasterReport) (float64, bool) {
			if r.Why == nil {
				return 0, true
			}
			return r.Why.Left.Seconds(), true
		}),
	ofMaster("redlock_master_clock_offset_seconds",
		"By how much the master's clock is ahead of the client's, the middle of what is known; negative: behind.",
		func(r *redlock.MasterReport) (float64, bool) {
			if r.ClockOffset == nil {
				return 0, false
			}
			return r.ClockOffset.Middle().Seconds(), true
		}),
	ofMaster("redlock_master_round_trip_seconds", "Moving average of the round trip to the master.",
		func(r *redlock.MasterReport) (float64, bool) { return r.RoundTrip.Seconds(), true }),
	ofConnection("redlock_master_in_flight", "Commands that wait to be sent to the master or for its reply.",
		prometheus.GaugeValue, func(s *pool.Stats) float64 { return float64(s.InFlight) }),
	ofConnection("redlock_master_commands_total", "Replies received from the master.",
		prometheus.CounterValue, func(s *pool.Stats) float64 { return float64(s.Commands) }),
	ofConnection("redlock_master_failures_total", "Error replies of the master, and commands that got no reply.",
		prometheus.CounterValue, func(s *pool.Stats) float64 { return float64(s.Failures) }),
	ofConnection("redlock_master_reconnects_total", "Connections to the master after the first.",
		prometheus.CounterValue, func(s *pool.Stats) float64 { return float64(s.Reconnects) }),
	{
		prometheus.NewDesc("redlock_master_replies_total",
			"The master's parts in operations on locks, by result; timeout came after the operation's deadline.",
			[]string{"master", "result"}, nil),
		prometheus.CounterValue, func(v *view, emit func(float64, ...string)) {
			for i := range v.stats.Masters {
				s := &v.stats.Masters[i]
				emit(float64(s.Agreed), s.Name, "agreed")
				emit(float64(s.Refused), s.Name, "refused")
				emit(float64(s.Failed), s.Name, "failed")
				emit(float64(s.TimedOut), s.Name, "timeout")
			}
		},
	},
}

var roundTrips = prometheus.NewDesc("redlock_master_reply_seconds",
	"Round trips to the master, one of each flush, also of replies that came after the decision.",
	[]string{"master"}, nil)

// collectRoundTrips exports what a pool has counted.
func collectRoundTrips(out chan<- prometheus.Metric, s *pool.Stats) {
	count, below := uint64(0), make(map[float64]uint64, len(pool.RoundTripBounds))
	for i, n := range s.RoundTrips {
		count += n
		if i < len(pool.RoundTripBounds) {
			below[pool.RoundTripBounds[i].Seconds()] = count
		}
	}
	out <- prometheus.MustNewConstHistogram(roundTrips, count, s.RoundTripSum.Seconds(), below, s.Name)
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func ofClient(name, help string, kind prometheus.ValueType, value func(*redlock.Stats) float64) observedMetric {
	return observedMetric{prometheus.NewDesc(name, help, nil, nil), kind, func(v *view, emit func(float64, ...string)) {
		emit(value(&v.stats))
	}}
}

// ofMaster is a gauge by master. value returns false if there is no value.
func ofMaster(name, help string, value func(*redlock.MasterReport) (float64, bool)) observedMetric {
	desc := prometheus.NewDesc(name, help, []string{"master"}, nil)
	return observedMetric{desc, prometheus.GaugeValue, func(v *view, emit func(float64, ...string)) {
		for i := range v.reports {
			if x, ok := value(&v.reports[i]); ok {
				emit(x, v.reports[i].Master)
			}
		}
	}}
}

func ofConnection(name, help string, kind prometheus.ValueType, value func(*pool.Stats) float64) observedMetric {
	desc := prometheus.NewDesc(name, help, []string{"master"}, nil)
	return observedMetric{desc, kind, func(v *view, emit func(float64, ...string)) {
		for i := range v.stats.Masters {
			emit(value(&v.stats.Masters[i]), v.stats.Masters[i].Name)
		}
	}}
}

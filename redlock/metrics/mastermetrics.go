package metrics

import (
	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

// A masterMetric is a metric about masters.
type masterMetric struct {
	Desc
	samples func(v *view) []Sample
}

// A view is what is known of the masters at one scrape. Without an observed
// client only counted is there.
type view struct {
	counted []countedMaster
	stats   redlock.Stats
	reports []redlock.MasterReport
}

type countedMaster struct {
	address string
	counts  *master
}

var masterMetrics = []masterMetric{
	{
		Desc{"redlock_quorum_masters", "Masters that make a quorum.", Gauge, nil},
		ofClient(func(s *redlock.Stats) uint64 { return uint64(s.Need) }), //nolint:gosec // a few masters
	}, {
		Desc{"redlock_fencing_tokens_total", "Acquisitions and adoptions that came to a fencing token.", Counter, nil},
		ofClient(func(s *redlock.Stats) uint64 { return s.FencingTokens }),
	}, {
		Desc{"redlock_fencing_second_rounds_total", "Fencing tokens that took a second round to be stored on a quorum.", Counter, nil},
		ofClient(func(s *redlock.Stats) uint64 { return s.FencingRaises }),
	}, {
		Desc{"redlock_master_connected", "Whether the master is connected: 1 or 0.", Gauge, []string{"master"}},
		perReport(func(r *redlock.MasterReport) float64 { return truth(r.Connected) }),
	}, {
		Desc{"redlock_master_votes", "Whether the master's answers count: 1 or 0.", Gauge, []string{"master"}},
		perReport(func(r *redlock.MasterReport) float64 { return truth(r.Votes) }),
	}, {
		Desc{"redlock_master_quarantine_seconds", "For how much longer the master may not vote because it may have forgotten locks.", Gauge, []string{"master"}},
		perReport(func(r *redlock.MasterReport) float64 {
			if r.Why == nil {
				return 0
			}
			return r.Why.Left.Seconds()
		}),
	}, {
		Desc{"redlock_master_clock_offset_seconds", "By how much the master's clock is ahead of the client's, the middle of what is known; negative: behind.", Gauge, []string{"master"}},
		clockOffsets,
	}, {
		Desc{"redlock_master_round_trip_seconds", "Moving average of the round trip to the master.", Gauge, []string{"master"}},
		perReport(func(r *redlock.MasterReport) float64 { return r.RoundTrip.Seconds() }),
	}, {
		Desc{"redlock_master_in_flight", "Commands that wait to be sent to the master or for its reply.", Gauge, []string{"master"}},
		perConnection(func(s *pool.Stats) float64 { return float64(s.InFlight) }),
	}, {
		Desc{"redlock_master_commands_total", "Replies received from the master.", Counter, []string{"master"}},
		perConnection(func(s *pool.Stats) float64 { return float64(s.Commands) }),
	}, {
		Desc{"redlock_master_failures_total", "Error replies of the master, and commands that got no reply.", Counter, []string{"master"}},
		perConnection(func(s *pool.Stats) float64 { return float64(s.Failures) }),
	}, {
		Desc{"redlock_master_reconnects_total", "Connections to the master after the first.", Counter, []string{"master"}},
		perConnection(func(s *pool.Stats) float64 { return float64(s.Reconnects) }),
	}, {
		Desc{"redlock_master_replies_total", "The master's parts in operations on locks, by operation and result; timeout came after the operation's deadline.", Counter, []string{"master", "op", "result"}},
		repliesOf,
	}, {
		Desc{"redlock_master_reply_seconds", "Time from a question to the master's reply, also to one that came after the decision.", HistogramType, []string{"master"}},
		func(v *view) []Sample {
			var samples []Sample
			for _, m := range v.counted {
				if h := m.counts.latency.snapshot(replyBounds); h != nil {
					samples = append(samples, Sample{Labels: []string{m.address}, Histogram: h})
				}
			}
			return samples
		},
	},
}

// repliesOf leaves out what was never counted, but for an acquisition's.
func repliesOf(v *view) []Sample {
	var samples []Sample
	for _, m := range v.counted {
		for op := range replyOps {
			for result := range replyResults {
				if n := m.counts.replies[op][result].Load(); n != 0 || op == 0 {
					samples = append(samples, Sample{Labels: []string{m.address, replyOps[op], replyResults[result]}, Value: float64(n)})
				}
			}
		}
	}
	return samples
}

// clockOffsets leaves out masters whose clock was not read yet.
func clockOffsets(v *view) []Sample {
	var samples []Sample
	for i := range v.reports {
		if r := &v.reports[i]; r.Clock != nil {
			middle := (r.Clock.Offset.Low + r.Clock.Offset.High) / 2
			samples = append(samples, Sample{Labels: []string{r.Master}, Value: middle.Seconds()})
		}
	}
	return samples
}

// truth is a boolean as a gauge has it.
func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// ofClient is a count of the client's; nothing where none is observed.
func ofClient(count func(*redlock.Stats) uint64) func(v *view) []Sample {
	return func(v *view) []Sample {
		if v.stats.Need == 0 {
			return nil
		}
		return one(count(&v.stats))
	}
}

func perReport(value func(*redlock.MasterReport) float64) func(v *view) []Sample {
	return func(v *view) []Sample {
		samples := make([]Sample, len(v.reports))
		for i := range v.reports {
			samples[i] = Sample{Labels: []string{v.reports[i].Master}, Value: value(&v.reports[i])}
		}
		return samples
	}
}

func perConnection(value func(*pool.Stats) float64) func(v *view) []Sample {
	return func(v *view) []Sample {
		samples := make([]Sample, len(v.stats.Masters))
		for i := range v.stats.Masters {
			samples[i] = Sample{Labels: []string{v.stats.Masters[i].Name}, Value: value(&v.stats.Masters[i])}
		}
		return samples
	}
}

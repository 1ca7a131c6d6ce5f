package doctor

import (
	"strconv"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/explain"
	"github.com/redquorum/redquorum/cmd/internal/observe"
	"github.com/redquorum/redquorum/cmd/internal/term"
)

// A Report is what --json prints.
type Report struct {
	*observe.Verdict
	Masters  []Master  `json:"masters"`
	Findings []Finding `json:"findings"`
}

// A Master is one master of a Report. Unknown facts are left out.
type Master struct {
	Address     string      `json:"master"`
	Up          bool        `json:"up"`
	Votes       bool        `json:"votes"`
	Abstains    string      `json:"abstains,omitempty"` // why it does not vote
	Error       string      `json:"error,omitempty"`
	RoundTrips  *RoundTrips `json:"round_trips,omitempty"`
	Version     string      `json:"version,omitempty"`
	Role        string      `json:"role,omitempty"`
	RunID       string      `json:"run_id,omitempty"`
	Persistence string      `json:"persistence,omitempty"`
	Eviction    string      `json:"eviction,omitempty"`
	Clock       *Clock      `json:"clock,omitempty"`
	Marker      *Marker     `json:"marker,omitempty"`
}

// RoundTrips are those of PING, in microseconds.
type RoundTrips struct {
	Count int     `json:"count"`
	P50   float64 `json:"p50_us"`
	P90   float64 `json:"p90_us"`
	P99   float64 `json:"p99_us"`
	Max   float64 `json:"max_us"`
}

// A Clock is how far a master's clock is ahead of ours: between the two offsets.
type Clock struct {
	OffsetLowUS  float64 `json:"offset_low_us"`
	OffsetHighUS float64 `json:"offset_high_us"`

	text string // as people read it
}

// A Marker is what the master says of its fleet.
type Marker struct {
	Level    string `json:"level"`
	MaxTTLMS int64  `json:"max_ttl_ms"`
	Masters  int    `json:"masters"`
	SinceMS  int64  `json:"since_ms"`
}

// NewReport puts facts and the results of Judge together.
func NewReport(facts []Facts, v *observe.Verdict, found []Finding) *Report {
	r := &Report{Verdict: v, Findings: found}
	for i := range facts {
		m := facts[i].master()
		m.Votes, m.Abstains = v.On(i)
		r.Masters = append(r.Masters, m)
	}
	return r
}

func (f *Facts) master() Master {
	m := Master{Address: f.Master, Up: f.Down == nil}
	if f.Down != nil {
		m.Error = explain.Short(f.Down)
		return m
	}
	us := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
	if n := len(f.RoundTrips); n > 0 {
		at := func(p int) float64 { return us(term.Percentile(f.RoundTrips, p)) }
		m.RoundTrips = &RoundTrips{n, at(50), at(90), at(99), us(f.RoundTrips[n-1])}
	}
	m.Version, m.Role, m.RunID = f.Info["redis_version"], f.Info["role"], f.Info["run_id"]
	m.Persistence, m.Eviction = f.persistence(), f.policy()
	if f.HasClock {
		m.Clock = &Clock{OffsetLowUS: us(f.Offset.Low), OffsetHighUS: us(f.Offset.High), text: offset(f.Offset)}
	}
	if c, ok := f.GuardFacts.Marker.Config(); ok {
		since, _ := strconv.ParseInt(f.GuardFacts.Marker.Since, 10, 64) // 0 if it is no number
		m.Marker = &Marker{c.Level.String(), c.MaxTTL.Milliseconds(), c.Masters, since}
	}
	return m
}

package bench

import (
	"time"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/measure"
)

// A Result is what a run came to; it is what --json prints.
type Result struct {
	Masters int `json:"masters,omitempty"` // of the one fleet there is
	Quorum  int `json:"quorum,omitempty"`
	// Fleets are those over which the keys are spread, in the order of their names, where
	// there are several.
	Fleets     []Share `json:"fleets,omitempty"`
	Goroutines int     `json:"goroutines"`
	Keys       int     `json:"keys"` // of all fleets
	TTLMS      int64   `json:"ttl_ms"`
	Prefix     string  `json:"prefix"` // of the keys
	Rows       []Row   `json:"rows"`
	Left       []Left  `json:"left"` // behind, on masters that could not be cleaned
	// Away are the masters that were out of reach all along: nothing was written there.
	Away  []string `json:"away,omitempty"`
	Error string   `json:"error,omitempty"`
}

// A Share is what one of several fleets has to bear.
type Share struct {
	Name    string `json:"name"`
	Masters int    `json:"masters"`
	Quorum  int    `json:"quorum"`
	Keys    int    `json:"keys"`
}

// A Row is what one setting came to.
type Row struct {
	Guard       string        `json:"guard"`
	Fencing     bool          `json:"fencing"`
	Unavailable string        `json:"unavailable,omitempty"` // why it was not measured
	DurationMS  int64         `json:"duration_ms"`
	Pairs       uint64        `json:"pairs"`
	PairsPerSec float64       `json:"pairs_per_second"`
	Lock        Latency       `json:"lock"`
	Unlock      Latency       `json:"unlock"`
	Errors      []ErrorsCount `json:"errors"`
}

// Latency is how long calls took, in microseconds.
type Latency struct {
	P50 float64 `json:"p50_us"`
	P90 float64 `json:"p90_us"`
	P99 float64 `json:"p99_us"`
	Max float64 `json:"max_us"`
}

// ErrorsCount is how often calls failed in one way.
type ErrorsCount struct {
	Kind  string `json:"kind"` // no quorum, taken, lost, unconfirmed release, other
	Count uint64 `json:"count"`
	First string `json:"first"` // what the first one said
}

// Left is what could not be removed.
type Left struct {
	Master string `json:"master"`
	Error  string `json:"error"`
}

func latency(h *measure.Histogram) Latency {
	us := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
	return Latency{us(h.Percentile(50)), us(h.Percentile(90)), us(h.Percentile(99)), us(h.Max())}
}

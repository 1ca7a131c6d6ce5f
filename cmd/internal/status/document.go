package status

import (
	"github.com/redquorum/redquorum/cmd/internal/explain"
	"github.com/redquorum/redquorum/cmd/internal/observe"
	"github.com/redquorum/redquorum/cmd/internal/term"
	"github.com/redquorum/redquorum/redlock"
)

// A StatusDocument is what --json prints.
type StatusDocument struct {
	*observe.Verdict
	Keys []keyStatus `json:"keys"`
}

// A keyStatus is one key of what --json prints.
type keyStatus struct {
	Key      string                 `json:"key"`
	Verdict  string                 `json:"verdict"` // free, held, split, partial or unknown
	Sentence string                 `json:"sentence"`
	Masters  []masterStatus         `json:"masters"`
	Waiting  *observe.WaitingStatus `json:"waiting,omitempty"`
}

type masterStatus struct {
	Master      string         `json:"master"`
	State       string         `json:"state"` // free, held or error
	Type        string         `json:"type,omitempty"`
	Owner       string         `json:"owner,omitempty"`
	Token       string         `json:"token,omitempty"`  // its beginning, unless --show-tokens is given
	TTLMS       int64          `json:"ttl_ms,omitempty"` // -1: for ever
	ReaderCount int            `json:"reader_count,omitempty"`
	Readers     []readerStatus `json:"readers,omitempty"` // those that stay longest, 100 at the most
	RoundTripUS int64          `json:"round_trip_us,omitempty"`
	Error       string         `json:"error,omitempty"`
}

type readerStatus struct {
	Owner string `json:"owner,omitempty"`
	Token string `json:"token"`
	TTLMS int64  `json:"ttl_ms,omitempty"`
}

func statusOf(in *redlock.Inspection, said string, shown func(string) string) keyStatus {
	k := keyStatus{Key: in.Key, Verdict: explain.VerdictNames[in.Verdict], Sentence: said}
	for _, m := range in.Masters {
		row := masterStatus{Master: m.Master, State: "held", RoundTripUS: m.RoundTrip.Microseconds()}
		switch {
		case m.Err != nil:
			row.State, row.Error = "error", term.Redacted(m.Err.Error())
		case m.Held == nil:
			row.State = "free"
		default:
			row.Type, row.Owner, row.Token = m.Held.Type, m.Held.Owner, shown(m.Held.Token)
			row.TTLMS = m.Held.TTL.Milliseconds()
			if m.Held.TTL < 0 {
				row.TTLMS = -1
			}
			row.ReaderCount = m.Held.Readers
			for _, r := range m.Readers {
				row.Readers = append(row.Readers, readerStatus{r.Owner, shown(r.Token), r.TTL.Milliseconds()})
			}
		}
		k.Masters = append(k.Masters, row)
	}
	return k
}

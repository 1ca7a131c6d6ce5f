package main

import (
	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/survey"
	tokens "github.com/redquorum/redquorum/internal/token"
)

// A locksDocument is what --json prints of a look.
type locksDocument struct {
	Locks    []lockRow `json:"locks"`
	NotShown int       `json:"not_shown,omitempty"` // because of --limit
	lockSums
	Complete bool             `json:"complete"` // all keys of the masters that were searched were seen
	Masters  []searchedMaster `json:"masters"`
	TookMS   int64            `json:"took_ms"`
}

type lockRow struct {
	Key     string      `json:"key"`
	Kind    string      `json:"kind"`    // lock, readers, foreign or mixed
	Verdict string      `json:"verdict"` // as in status
	Need    int         `json:"need"`    // masters that make a quorum
	Holders []lockHolds `json:"holders"` // those on most masters first, 10 at the most
	Readers int         `json:"readers,omitempty"`
	Waiting *int        `json:"waiting"` // null: not known
	Fence   uint64      `json:"fence,omitempty"`
}

type lockHolds struct {
	Owner     string `json:"owner,omitempty"`
	Token     string `json:"token"` // its beginning
	Masters   int    `json:"masters"`
	TTLMS     int64  `json:"ttl_ms"`
	SeenMS    int64  `json:"seen_ms,omitempty"`    // for how long, with --watch
	RenewedMS int64  `json:"renewed_ms,omitempty"` // it was renewed less than so long ago, with --watch; absent: that was not seen
}

type searchedMaster struct {
	Master    string `json:"master"`
	Steps     int    `json:"steps"`
	Keys      int    `json:"keys"`
	Hidden    int    `json:"hidden,omitempty"`
	SlowestUS int64  `json:"slowest_us"`
	Error     string `json:"error,omitempty"`
}

// listedHolders is how many of a lock --json lists.
const listedHolders = 10

func (v *locksView) document(s *survey.Survey) *locksDocument {
	d := &locksDocument{Locks: []lockRow{}, lockSums: sumsOf(s), Complete: !s.Cut, TookMS: s.Took.Milliseconds()}
	shown := v.shown(s)
	d.NotShown = len(s.Locks) - len(shown)
	for i := range shown {
		d.Locks = append(d.Locks, v.documentRow(&shown[i]))
	}
	for _, m := range s.Masters {
		row := searchedMaster{Master: m.Master, Steps: m.Steps, Keys: m.Keys, Hidden: m.Hidden, SlowestUS: m.Slowest.Microseconds()}
		if m.Err != nil {
			row.Error = redacted(m.Err.Error())
		}
		d.Masters = append(d.Masters, row)
	}
	return d
}

func (v *locksView) documentRow(l *survey.Lock) lockRow {
	row := lockRow{Key: l.Key, Kind: string(l.Kind), Verdict: verdictNames[l.Verdict], Need: l.Need, Readers: l.Readers, Fence: l.Fence}
	if l.Waiting >= 0 {
		row.Waiting = &l.Waiting
	}
	for _, h := range l.Holders[:min(listedHolders, len(l.Holders))] {
		hold := lockHolds{Owner: h.Owner, Token: tokens.Short(h.Token), Masters: h.Masters, TTLMS: h.TTL.Milliseconds()}
		if w := v.renewals.Of(l.Key, h.Token); v.watching && w != nil {
			hold.SeenMS = v.now().Sub(w.Since).Milliseconds()
			if !w.Renewed.IsZero() {
				hold.RenewedMS = max(v.now().Sub(w.Renewed).Milliseconds(), 1)
			}
		}
		row.Holders = append(row.Holders, hold)
	}
	return row
}

package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/doctor"
	"github.com/redquorum/redquorum/redlock"
	"github.com/redquorum/redquorum/redlock/fleets"
)

// A fleetsStatus shows one fleet, or several in the order of their names.
type fleetsStatus struct {
	out     io.Writer
	json    bool
	clear   bool // the screen, before each look
	wide    func() layout
	views   []*statusView
	lookers []*looker // to be closed
	looks   int
}

// add begins to connect to a fleet.
func (f *fleetsStatus) add(one fleet, o *statusOptions) error {
	options, err := verdictOptions(one.urls, &o.accessFlags)
	if err != nil {
		return err
	}
	l, err := newLooker(one.urls, o.sharedFlags, &o.accessFlags)
	if err != nil {
		return err
	}
	v := &statusView{
		who: l.client, tokens: o.showTokens, codes: verdictCodes, name: one.name, now: time.Now,
		verdict: verdicts(options, doctor.Client{MaxTTL: o.maxTTL, Skew: o.skew}), waiting: l.queues.read,
	}
	if o.check {
		v.codes = checkCodes
	}
	f.views, f.lookers = append(f.views, v), append(f.lookers, l)
	return nil
}

func (f *fleetsStatus) close() {
	for _, l := range f.lookers {
		l.close()
	}
}

// show looks at the keys in all fleets, once or (every > 0) until ctx ends.
func (f *fleetsStatus) show(ctx context.Context, keys []string, every time.Duration) error {
	var wg sync.WaitGroup
	byName := map[string]fleets.Locker{}
	for i, l := range f.lookers {
		wg.Go(func() { l.await(ctx) })
		byName[f.views[i].name] = fleets.One(l.client)
	}
	wg.Wait()
	if len(f.views) > 1 {
		shards, err := fleets.Sharded(byName)
		if err != nil {
			return inFlags(err)
		}
		for _, v := range f.views {
			v.shard = shards.Shard
		}
	}
	return watching(ctx, every, func() (int, error) { return f.look(ctx, keys) })
}

// A fleetsDocument is what --json prints of several fleets.
type fleetsDocument struct {
	CanLock bool          `json:"can_lock"` // in all of them
	Worst   string        `json:"worst"`    // the name of the fleet with the worst verdict
	Fleets  []fleetStatus `json:"fleets"`
}

// A fleetStatus is one of them.
type fleetStatus struct {
	Name string `json:"name"`
	statusDocument
}

// look asks all fleets at once, and prints once.
func (f *fleetsStatus) look(ctx context.Context, keys []string) (code int, err error) {
	texts, codes, errs := make([]bytes.Buffer, len(f.views)), make([]int, len(f.views)), make([]error, len(f.views))
	all := fleetsDocument{Fleets: make([]fleetStatus, len(f.views))}
	var wg sync.WaitGroup
	for i, v := range f.views {
		all.Fleets[i].Name = v.name
		wg.Go(func() {
			var d *statusDocument
			if d, codes[i], errs[i] = v.describe(ctx, &texts[i], f.wide(), keys); d != nil {
				all.Fleets[i].statusDocument = *d
			}
		})
	}
	wg.Wait()
	if err := cmp.Or(errs...); err != nil {
		return 0, err
	}
	var text bytes.Buffer
	if f.looks > 0 && !f.clear {
		text.WriteByte('\n')
	}
	f.looks++
	if len(f.views) == 1 {
		text.Write(texts[0].Bytes())
		return codes[0], f.print(&text, all.Fleets[0].statusDocument)
	}
	verdicts := make([]*doctor.Verdict, len(f.views))
	for i := range all.Fleets {
		one := &all.Fleets[i]
		if one.Keys == nil {
			one.Keys = []keyStatus{} // [] in JSON
		}
		verdicts[i] = one.Verdict
		fmt.Fprintf(&text, "Fleet %q\n", one.Name)
		text.Write(texts[i].Bytes())
		text.WriteByte('\n')
	}
	worst := doctor.WorstVerdict(verdicts)
	all.Worst, all.CanLock = all.Fleets[worst].Name, verdicts[worst].CanLock
	f.wide().text(&text, "", 0, worstLine(all.Worst, verdicts[worst]))
	return slices.Max(codes), f.print(&text, all)
}

// print prints one look whole, as people or programs read it; on a cleared screen where that
// is wanted.
func (f *fleetsStatus) print(text *bytes.Buffer, document any) error {
	var b bytes.Buffer
	if f.clear {
		b.WriteString("\x1b[H\x1b[J")
	}
	if !f.json {
		b.Write(text.Bytes())
	} else if err := json.NewEncoder(&b).Encode(document); err != nil {
		return err
	}
	return emit(f.out, &b)
}

// A keyStatus is one key of what --json prints.
type keyStatus struct {
	Key      string `json:"key"`
	Verdict  string `json:"verdict"` // free, held, split, partial or unknown
	Sentence string `json:"sentence"`
	// BelongsTo is the fleet where it should be, of a key that was found in another.
	BelongsTo string         `json:"belongs_to,omitempty"`
	Masters   []masterStatus `json:"masters"`
	Waiting   *waitingStatus `json:"waiting,omitempty"`
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
	k := keyStatus{Key: in.Key, Verdict: verdictNames[in.Verdict], Sentence: said}
	for _, m := range in.Masters {
		row := masterStatus{Master: m.Master, State: "held", RoundTripUS: m.RoundTrip.Microseconds()}
		switch {
		case m.Err != nil:
			row.State, row.Error = "error", redacted(m.Err.Error())
		case m.Held == nil:
			row.State = "free"
		default:
			row.Type, row.Owner, row.Token = m.Held.Type, m.Held.Owner, shown(m.Held.Token)
			row.TTLMS = m.Held.TTL.Milliseconds()
			if m.Held.TTL < 0 {
				row.TTLMS = -1
			}
			row.ReaderCount = m.ReaderCount
			for _, r := range m.Readers {
				row.Readers = append(row.Readers, readerStatus{r.Owner, shown(r.Token), r.TTL.Milliseconds()})
			}
		}
		k.Masters = append(k.Masters, row)
	}
	return k
}

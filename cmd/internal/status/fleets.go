package status

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/observe"
	"github.com/redquorum/redquorum/cmd/internal/say"
	"github.com/redquorum/redquorum/cmd/internal/term"
	"github.com/redquorum/redquorum/redlock"
	"github.com/redquorum/redquorum/redlock/fleets"
)

// A fleetsStatus shows one fleet, or several in the order of their names.
type fleetsStatus struct {
	app.Looks
	wide   func() term.Layout
	views  []*statusView
	opened []*observe.Fleet // to be closed
}

// add begins to connect to a fleet.
func (f *fleetsStatus) add(one app.Fleet, o *statusOptions) error {
	l, err := observe.NewFleet(one.Urls, o.SharedFlags, &o.AccessFlags)
	if err != nil {
		return err
	}
	v := &statusView{
		who: l.Client, tokens: o.showTokens, name: one.Name, now: time.Now,
		verdict: l.Verdict, waiting: l.Waiting,
	}
	f.views, f.opened = append(f.views, v), append(f.opened, l)
	return nil
}

func (f *fleetsStatus) close() {
	for _, l := range f.opened {
		l.Close()
	}
}

// show looks at the keys in all fleets, once or (every > 0) until ctx ends.
func (f *fleetsStatus) show(ctx context.Context, keys []string, every time.Duration) error {
	byName := map[string]fleets.Locker{}
	for i, l := range f.opened {
		byName[f.views[i].name] = fleets.One(l.Client)
	}
	if len(f.views) > 1 {
		shards, err := fleets.Sharded(byName)
		if err != nil {
			return app.InFlags(err)
		}
		for _, v := range f.views {
			v.shard = shards.Shard
		}
	}
	return app.Watching(ctx, every, func() (int, error) { return f.look(ctx, keys) })
}

// A FleetsDocument is what --json prints of several fleets.
type FleetsDocument struct {
	CanLock bool          `json:"can_lock"` // in all of them
	Worst   string        `json:"worst"`    // the name of the fleet with the worst verdict
	Fleets  []fleetStatus `json:"fleets"`
}

// A fleetStatus is one of them.
type fleetStatus struct {
	Name string `json:"name"`
	StatusDocument
}

// look asks all fleets at once, and prints once.
func (f *fleetsStatus) look(ctx context.Context, keys []string) (code int, err error) {
	texts, codes, errs := make([]bytes.Buffer, len(f.views)), make([]int, len(f.views)), make([]error, len(f.views))
	all := FleetsDocument{Fleets: make([]fleetStatus, len(f.views))}
	var wg sync.WaitGroup
	for i, v := range f.views {
		all.Fleets[i].Name = v.name
		wg.Go(func() {
			var d *StatusDocument
			if d, codes[i], errs[i] = v.describe(ctx, &texts[i], f.wide(), keys); d != nil {
				all.Fleets[i].StatusDocument = *d
			}
		})
	}
	wg.Wait()
	if err := cmp.Or(errs...); err != nil {
		return 0, err
	}
	if len(f.views) == 1 {
		return codes[0], f.Print(all.Fleets[0].StatusDocument, &texts[0])
	}
	var text bytes.Buffer
	verdicts := make([]*observe.Verdict, len(f.views))
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
	worst := observe.WorstVerdict(verdicts)
	all.Worst, all.CanLock = all.Fleets[worst].Name, verdicts[worst].CanLock
	f.wide().Text(&text, "", 0, worstLine(all.Worst, verdicts[worst]))
	return slices.Max(codes), f.Print(all, &text)
}

// A keyStatus is one key of what --json prints.
type keyStatus struct {
	Key      string `json:"key"`
	Verdict  string `json:"verdict"` // free, held, split, partial or unknown
	Sentence string `json:"sentence"`
	// BelongsTo is the fleet where it should be, of a key that was found in another.
	BelongsTo string                 `json:"belongs_to,omitempty"`
	Masters   []masterStatus         `json:"masters"`
	Waiting   *observe.WaitingStatus `json:"waiting,omitempty"`
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
	k := keyStatus{Key: in.Key, Verdict: say.VerdictNames[in.Verdict], Sentence: said}
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
			row.ReaderCount = m.ReaderCount
			for _, r := range m.Readers {
				row.Readers = append(row.Readers, readerStatus{r.Owner, shown(r.Token), r.TTL.Milliseconds()})
			}
		}
		k.Masters = append(k.Masters, row)
	}
	return k
}

// worstLine ends a report on several fleets.
func worstLine(name string, v *observe.Verdict) string {
	return fmt.Sprintf("The worst is fleet %q. %s", name, v)
}

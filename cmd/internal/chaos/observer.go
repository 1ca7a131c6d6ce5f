package chaos

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/stage"
	"github.com/redquorum/redquorum/redlock"
)

// observeEvery is how often the observer asks.
const observeEvery = 200 * time.Millisecond

// An observer asks the masters how they stand, with a client of its own.
type observer struct {
	*World
	client stage.Client

	told   []stage.Sight // of masters that others run, what was told of them last; of the goroutine that looks
	outage outage        // as told

	mu   sync.Mutex // guards what follows
	rows []MasterRow
}

// run observes until ctx ends.
func (o *observer) run(ctx context.Context) { app.Every(ctx, observeEvery, func() { o.look(ctx) }) }

// look asks once. It takes no longer than the masters' timeout.
func (o *observer) look(ctx context.Context) {
	in, err := o.client.Inspect(ctx, o.Key)
	if err != nil {
		if ctx.Err() == nil && !errors.Is(err, redlock.ErrClosed) {
			o.tell(EventFailure, "looking at the lock: %v", err)
		}
		return
	}
	rows := make([]MasterRow, len(in.Masters))
	for i, m := range o.client.Masters(ctx) {
		said := in.Masters[i]
		row := MasterRow{Seen: stage.See(&m, said.Err), RoundTrip: m.RoundTrip, Answers: said.Err == nil, Held: said.Held}
		switch {
		case o.Own(): // nobody else sets it
			row.Known, row.Offset = m.Connected, o.Condition(i).Offset
		case m.Clock != nil:
			row.Known, row.Offset = m.Connected, m.Clock.Offset.Middle()
		}
		rows[i] = row
	}
	if !o.Own() {
		o.watch(ctx, rows)
	}
	o.publish(ctx, rows)
}

// publish keeps the rows, and tells when the quorum comes or goes.
func (o *observer) publish(ctx context.Context, rows []MasterRow) {
	serving := 0
	for _, row := range rows {
		if row.Serves() {
			serving++
		}
	}
	o.mu.Lock()
	o.rows = rows
	o.mu.Unlock()
	if text := o.outage.judge(serving, len(rows), o.Quorum, time.Now()); text != "" && ctx.Err() == nil {
		o.tell(EventQuorum, "%s", text)
	}
}

// flicker is how long there may be no quorum before anybody is told: on a busy machine masters look slow for a moment.
const flicker = 500 * time.Millisecond

// An outage is whether a quorum serves, as it was told.
type outage struct {
	began bool // a quorum has served
	told  bool // that none does
	since time.Time
}

// judge takes note of how many masters serve, and says what is new; "": nothing. That there is no quorum yet at the
// start is no event.
func (o *outage) judge(serving, all, need int, now time.Time) (text string) {
	if serving >= need {
		switch {
		case !o.began:
			text = fmt.Sprintf("a quorum serves: %d of %d", serving, all)
		case o.told:
			text = fmt.Sprintf("a quorum serves again: %d of %d", serving, all)
		}
		*o = outage{began: true}
		return text
	}
	if o.since.IsZero() {
		o.since = now
	}
	if !o.began || o.told || now.Sub(o.since) < flicker {
		return ""
	}
	o.told = true
	return fmt.Sprintf("no quorum: %d of %d serve, %d needed", serving, all, need)
}

// seen is what was seen last; nil before the first look.
func (o *observer) seen() []MasterRow {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.rows
}

// watch tells of masters that are seen otherwise than before.
func (o *observer) watch(ctx context.Context, rows []MasterRow) {
	if o.told == nil {
		o.told = make([]stage.Sight, len(rows))
		for i := range o.told {
			o.told[i].State = stage.SeenUp // all others are told of
		}
	}
	for i, row := range rows {
		now, before := row.Seen, &o.told[i]
		if now.Open || ctx.Err() != nil || now.State == before.State && now.Cause == before.Cause {
			continue
		}
		*before = now
		o.tell(EventMaster, "master %d %s: %s", i+1, o.addresses[i], now.Text)
	}
}

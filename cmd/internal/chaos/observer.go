package chaos

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/observe"
	"github.com/redquorum/redquorum/cmd/internal/say"
	"github.com/redquorum/redquorum/cmd/internal/stage"
	"github.com/redquorum/redquorum/redlock"
)

// How often the observer asks, and for how long it waits for a clock.
const (
	observeEvery = 200 * time.Millisecond
	clockBound   = 250 * time.Millisecond
)

// An observer asks the masters how they stand, with a client of its own.
type observer struct {
	*World
	client stage.Client
	lines  []*observe.Master // for their clocks

	sights []stage.Sight // of masters that others run, as they were told of last; run's alone

	outage outage // of the goroutine that looks

	mu   sync.Mutex // guards what follows
	rows []MasterRow
}

func newObserver(w *World, client stage.Client) (*observer, error) {
	o := &observer{World: w, client: client}
	for _, u := range w.URLs {
		line, err := observe.Open(u, w.PoolOptions()...)
		if err != nil {
			return o, err
		}
		o.lines = append(o.lines, line)
	}
	return o, nil
}

// run observes until ctx ends.
func (o *observer) run(ctx context.Context) {
	o.look(ctx)
	every(ctx, observeEvery, func() { o.look(ctx) })
}

// look asks once. It takes no longer than the masters' timeout.
func (o *observer) look(ctx context.Context) {
	rows := make([]MasterRow, len(o.lines))
	var wg sync.WaitGroup
	for i, line := range o.lines {
		wg.Go(func() {
			if !line.Stats().Connected {
				return
			}
			bounded, cancel := context.WithTimeout(ctx, clockBound)
			defer cancel()
			if r, err := line.Clock(bounded); err == nil {
				rows[i].Known, rows[i].Offset = true, r.Offset().Middle()
			}
		})
	}
	in, err := o.client.Inspect(ctx, o.Key)
	wg.Wait()
	if err != nil {
		if ctx.Err() == nil && !errors.Is(err, redlock.ErrClosed) {
			o.tell(EventFailure, "looking at the lock: %v", err)
		}
		return
	}
	for i, m := range in.Masters {
		row := &rows[i]
		row.Answers = m.Err == nil
		if m.Held != nil {
			row.Holder, row.TTL = heldBy(m.Held), m.Held.TTL
		}
	}
	reports := o.client.Masters(ctx)
	standing(reports, rows)
	if !o.Own() {
		o.watch(ctx, reports, in, rows)
	}
	o.publish(ctx, rows)
}

func heldBy(h *redlock.HeldError) string {
	if h.Owner == "" {
		return "somebody else"
	}
	return h.Owner
}

// standing fills in whose votes count.
func standing(reports []redlock.MasterReport, rows []MasterRow) {
	for i, m := range reports {
		row := &rows[i]
		row.Address, row.RoundTrip, row.Votes = m.Master, m.RoundTrip, m.Votes
		switch {
		case !m.Connected && say.IsSilence(m.Err):
			row.Standing = "no answer"
		case !m.Connected:
			row.Standing = "no connection"
		case m.Votes || m.Why == nil:
		case m.Why.Left > 0:
			row.Standing = fmt.Sprintf("waits %.1f s", m.Why.Left.Seconds())
		default:
			row.Standing = m.Why.Cause.String()
		}
	}
}

// publish keeps the rows, and tells when the quorum comes or goes.
func (o *observer) publish(ctx context.Context, rows []MasterRow) {
	serving := 0
	for _, row := range rows {
		if row.Votes && row.Answers {
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

// watch says in the rows how the masters are seen, and tells of what has changed.
func (o *observer) watch(ctx context.Context, reports []redlock.MasterReport, in *redlock.Inspection, rows []MasterRow) {
	if o.sights == nil {
		o.sights = make([]stage.Sight, len(rows))
		for i := range o.sights {
			o.sights[i].State = stage.SeenUp // all others are told of
		}
	}
	for i := range rows {
		now, before := stage.See(&reports[i], in.Masters[i].Err), &o.sights[i]
		rows[i].State = now.State
		if now.Open || ctx.Err() != nil || now.State == before.State && now.Cause == before.Cause {
			continue
		}
		*before = now
		o.tell(EventMaster, "master %d %s: %s", i+1, reports[i].Master, now.Text)
	}
}

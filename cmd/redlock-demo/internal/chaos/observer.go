package chaos

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/ask"
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
	client *redlock.Client
	lines  []*ask.Master // for their clocks

	sights []sight // of masters that others run, as they were told of last; run's alone

	mu     sync.Mutex // guards what follows
	rows   []MasterRow
	quorum bool
	looked bool
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
	in, err := o.client.Inspect(ctx, o.key)
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
	if o.breaker == nil {
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
	quorum := serving >= o.need
	o.mu.Lock()
	changed := o.looked && quorum != o.quorum
	first := !o.looked && quorum
	o.rows, o.quorum = rows, quorum
	o.looked = o.looked || quorum // that there is none yet at the start is no event
	o.mu.Unlock()
	switch {
	case ctx.Err() != nil:
	case first:
		o.tell(EventQuorum, "a quorum serves: %d of %d", serving, len(rows))
	case changed && quorum:
		o.tell(EventQuorum, "a quorum serves again: %d of %d", serving, len(rows))
	case changed:
		o.tell(EventQuorum, "no quorum: %d of %d serve, %d needed", serving, len(rows), o.need)
	}
}

// seen is what was seen last; nil before the first look.
func (o *observer) seen() []MasterRow {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.rows
}

package chaos

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/ask"
	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/trouble"
	"github.com/redquorum/redquorum/internal/pipeline"
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

// How a master that others run is seen.
const (
	seenUp       = "up"
	seenGone     = "gone"     // there is no connection
	seenSilent   = "silent"   // it does not answer
	seenRefuses  = "refuses"  // it is up, and does not let us in
	seenAbstains = "abstains" // its vote does not count
)

// A sight is how a master is seen, and what is told of it.
type sight struct {
	state string
	cause redlock.AbstainCause // for which it abstains
	text  string
	open  bool // it will be known in a moment
}

// seen is how a master is seen by its report and its latest answer.
func seen(m *redlock.MasterReport, answer error) sight {
	switch {
	case !m.Connected:
		return unconnected(&pipeline.DownError{Cause: m.Err})
	case trouble.IsSilence(answer):
		return sight{state: seenSilent, text: trouble.Short(answer)}
	case m.Why != nil:
		return sight{
			state: seenAbstains, cause: m.Why.Cause, text: trouble.Short(m.Why),
			open: m.Why.Cause == redlock.AbstainNotConnected || m.Why.Cause == redlock.AbstainUnmarked && m.Why.Err == nil,
		}
	case answer != nil:
		return sight{state: seenRefuses, text: trouble.Short(answer)}
	default:
		return sight{state: seenUp, text: "votes again"}
	}
}

// unconnected is how a master is seen that there is no connection to.
func unconnected(why error) sight {
	s := sight{state: seenRefuses, text: trouble.Short(why), open: errors.Is(why, pipeline.ErrConnecting)}
	if _, down := trouble.Down(why); down || s.open {
		s.state = seenGone
	} else if trouble.IsSilence(why) {
		s.state = seenSilent
	}
	return s
}

// watch says in the rows how the masters are seen, and tells of what has changed.
func (o *observer) watch(ctx context.Context, reports []redlock.MasterReport, in *redlock.Inspection, rows []MasterRow) {
	if o.sights == nil {
		o.sights = make([]sight, len(rows))
		for i := range o.sights {
			o.sights[i].state = seenUp // all others are told of
		}
	}
	for i := range rows {
		now, before := seen(&reports[i], in.Masters[i].Err), &o.sights[i]
		rows[i].State = now.state
		if now.open || ctx.Err() != nil || now.state == before.state && now.cause == before.cause {
			continue
		}
		*before = now
		o.tell(EventMaster, "master %d %s: %s", i+1, reports[i].Master, now.text)
	}
}

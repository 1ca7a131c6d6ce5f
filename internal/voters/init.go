package voters

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redquorum/redquorum/internal/guard"
)

// ErrClosed is what ends a wait when Config.Closing is closed.
var ErrClosed = errors.New("client is closed")

const (
	initLimit = 5 * time.Second
	readyPoll = 5 * time.Millisecond
)

var errInitLimit = errors.New("not all masters have answered")

// Init declares a new fleet (see redlock.Client.Init). reasons says for each master
// why it is not declared; nil where it is. The error is what ended the waiting
// before anything was written: ctx's, or ErrClosed.
func (g *Monitor) Init(ctx context.Context, force bool) (reasons []error, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, initLimit, errInitLimit)
	defer cancel()
	if err := g.awaitLooks(ctx); err != nil {
		return nil, err
	}
	reasons, declared := g.unfit(force)
	if declared {
		return make([]error, len(reasons)), nil
	}
	if slices.ContainsFunc(reasons, func(err error) bool { return err != nil }) {
		return reasons, nil
	}
	g.mu.Lock()
	asked := make([]*inquiry, len(g.masters))
	for i := range g.masters {
		w := &g.masters[i]
		q := g.newInquiry(i, askInit, 1)
		q.done = make(chan struct{})
		q.add("EVAL", guard.Init.EvalArgs(g.cfg.InitArgs(w.run, q.sent.Wall(), waitForDial, force, w.created))...)
		asked[i] = q
		g.send = append(g.send, q)
	}
	g.unlock()
	for i, q := range asked {
		select {
		case <-q.done:
		case <-ctx.Done():
			reasons[i] = errInitUnknown
			continue
		}
		switch {
		case q.err != nil:
			reasons[i] = q.err
		case q.result.Verdict == guard.Present:
			reasons[i] = fmt.Errorf("somebody else has just written its marker: %s", q.result.Settings())
		case q.result.Verdict != guard.Declared && q.result.Verdict != guard.Forced:
			reasons[i] = fmt.Errorf("the script answers %v", q.result.Verdict)
		}
	}
	return reasons, nil
}

var errInitUnknown = errors.New("no answer: its marker may have been written, ask again")

// awaitLooks waits until every master was looked at, or cannot be reached.
func (g *Monitor) awaitLooks(ctx context.Context) error {
	t := time.NewTicker(readyPoll)
	defer t.Stop()
	for {
		g.mu.Lock()
		pending := false
		for i := range g.masters {
			w := &g.masters[i]
			// Masters that have told are looked at again and again: one far away always is.
			pending = pending || w.redialing ||
				w.asking != nil && (w.asking.purpose.writes() || w.asking.purpose == askLook && (w.looks == 0 || w.facts.Changed))
		}
		g.mu.Unlock()
		if !pending {
			return nil
		}
		select {
		case <-t.C:
		case <-g.closing:
			return ErrClosed
		case <-ctx.Done():
			if cause := context.Cause(ctx); !errors.Is(cause, errInitLimit) {
				return fmt.Errorf("nothing was written: %w", cause)
			}
			return nil // and those that are missing are named
		}
	}
}

// unfit says for each master why it keeps the fleet from being declared; nil
// where it does not. declared: all of them are what Init would make of them.
func (g *Monitor) unfit(force bool) (reasons []error, declared bool) {
	g.mu.Lock()
	defer g.unlock()
	reasons = make([]error, len(g.masters))
	standings := g.standings(g.facts(), g.clock.Now())
	declared = !force
	for i := range g.masters {
		w, s := &g.masters[i], &standings[i]
		declared = declared && s.Vote && w.facts.Marker.Since == "0"
		switch m := w.facts.Marker; {
		case !s.Vote && !markersOwn[s.Why.Cause]:
			reasons[i] = s.Why
		case w.run == "":
			reasons[i] = fmt.Errorf("it does not say who it is: permit +info")
		case m.Verdict == guard.WrongType || m.Verdict == guard.None:
			reasons[i] = s.Why
		case m.Verdict != guard.Missing && !force && (w.created == "" || m.Since != w.created):
			reasons[i] = fmt.Errorf("it has a marker: %s", m.Settings())
		}
	}
	return reasons, declared
}

// markersOwn are the causes that a new marker does away with.
var markersOwn = map[guard.Cause]bool{
	guard.OtherFleet: true, guard.NoMarker: true, guard.Changed: true, guard.Quarantined: true,
}

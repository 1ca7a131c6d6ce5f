package voters

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redquorum/redquorum/internal/guard"
)

const (
	initLimit = 5 * time.Second
	readyPoll = 5 * time.Millisecond
)

var errInitLimit = errors.New("not all masters have answered")

// Init declares a new fleet (see redlock.Client.Init). reasons says why a master is not
// declared; nil where nothing is wrong. The error is what ended the wait before anything
// was written: ctx's error, or the cause of Closing.
func (g *Monitor) Init(ctx context.Context, force bool) (reasons []error, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, initLimit, errInitLimit)
	defer cancel()
	for again := false; ; again = true {
		g.lookAnew()
		if err := g.awaitLooks(ctx); err != nil {
			return nil, err
		}
		reasons, declared := g.unfit(force)
		if declared {
			return make([]error, len(reasons)), nil
		}
		if slices.ContainsFunc(reasons, func(err error) bool { return err != nil }) {
			if !again && ctx.Err() == nil {
				continue // a client may be declaring the fleet
			}
			return reasons, nil
		}
		for i, q := range g.askInit(force) {
			if q != nil {
				reasons[i] = q.initialized(ctx)
			}
		}
		// Another client may have declared them in the meantime.
		if ctx.Err() != nil || !slices.Contains(reasons, errInitChanged) {
			return reasons, nil
		}
	}
}

// askInit sends the script that declares a master to all masters.
func (g *Monitor) askInit(force bool) []*inquiry {
	g.mu.Lock()
	defer g.unlock()
	asked := make([]*inquiry, len(g.masters))
	longest := guard.Longest(g.facts())
	for i := range g.masters {
		seen := g.masters[i].facts.Marker.Fields
		q := g.ask(i, askInit, guard.Init, func(t guard.Target) []any {
			return g.cfg.Guard.InitArgs(t, seen, force, longest)
		})
		q.done = make(chan struct{})
		asked[i] = q
		g.send = append(g.send, q)
	}
	return asked
}

// initialized waits for the answer, and says why the master is not declared.
func (q *inquiry) initialized(ctx context.Context) error {
	select {
	case <-q.done:
	case <-ctx.Done():
		return errInitUnknown
	}
	switch {
	case q.err != nil:
		return q.err
	case q.result.Verdict == guard.Present:
		return errInitChanged
	case q.result.Verdict != guard.Declared && q.result.Verdict != guard.Forced:
		return fmt.Errorf("unexpected answer from the script: %v", q.result.Verdict)
	}
	return nil
}

var (
	errInitUnknown = errors.New("no answer: its marker may have been written; run this again")
	errInitChanged = errors.New("something has changed on it while this ran: run this again")
	errInitKnown   = errors.New("it had a marker and has lost its data, so locks of before may be held: " +
		"wait until it votes, or stop all clients, empty all masters and run this again")
)

// lookAnew looks again at every master that is not being asked now: what is known of it
// may be seconds old.
func (g *Monitor) lookAnew() {
	g.mu.Lock()
	defer g.unlock()
	for i := range g.masters {
		if w := &g.masters[i]; w.epoch != 0 && w.asking == nil {
			w.looks = 0
			g.send = append(g.send, g.look(i))
		}
	}
}

// awaitLooks waits until every master was looked at, or cannot be reached.
func (g *Monitor) awaitLooks(ctx context.Context) error {
	t := time.NewTicker(readyPoll)
	defer t.Stop()
	for {
		g.mu.Lock()
		pending := false
		for i := range g.masters {
			w := &g.masters[i]
			// Only the first look is waited for: others follow, and at a master far away one always
			// is under way.
			pending = pending || w.redialing ||
				w.asking != nil && (w.asking.purpose.writes() ||
					w.asking.purpose == askLook && (w.looks == 0 || w.facts.Changed) && !w.takesNoScript())
		}
		g.mu.Unlock()
		if !pending {
			return nil
		}
		select {
		case <-t.C:
		case <-g.cfg.Closing.Done():
			return context.Cause(g.cfg.Closing)
		case <-ctx.Done():
			if cause := context.Cause(ctx); !errors.Is(cause, errInitLimit) {
				return fmt.Errorf("nothing was written: %w", cause)
			}
			return nil // the caller names the masters that are missing
		}
	}
}

// unfit says for each master why the fleet cannot be declared because of it; nil where
// it can. declared: all masters are already as Init would make them.
func (g *Monitor) unfit(force bool) (reasons []error, declared bool) {
	g.mu.Lock()
	defer g.unlock()
	reasons = make([]error, len(g.masters))
	now := g.cfg.Clock.Now()
	standings := g.standings(g.facts(), now)
	declared = !force
	for i := range g.masters {
		w, s := &g.masters[i], &standings[i]
		declared = declared && s.Vote && w.facts.Marker.Since == "0"
		switch m := w.facts.Marker; {
		case !s.Vote && !markersOwn[s.Why.Cause]:
			reasons[i] = s.Why
		case w.run == "":
			reasons[i] = errors.New("INFO does not tell its run_id: grant +info")
		case m.Verdict == guard.WrongType || m.Verdict == guard.None:
			reasons[i] = s.Why
		case !force && !s.Vote && (m.Known || m.How == guard.HowEmptied):
			reasons[i] = errInitKnown
		case m.Verdict != guard.Missing && !force && !g.cfg.Guard.Replaceable(w.facts, now):
			reasons[i] = fmt.Errorf("it has a marker, so it may have locks: %s", m.Settings())
		}
	}
	return reasons, declared
}

// markersOwn are the causes that a new marker removes.
var markersOwn = map[guard.Cause]bool{
	guard.OtherFleet: true, guard.NoMarker: true, guard.Changed: true, guard.Quarantined: true,
}

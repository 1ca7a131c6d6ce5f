package voters

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/redquorum/redquorum/internal/guard"
)

// JoinMove says that the client takes part in a move: it takes every lock in the other
// fleet too. On a nil Monitor it does nothing.
func (g *Monitor) JoinMove(name string) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.unlock()
	if c := g.cfg.Guard.JoinMove(name); c != g.cfg.Guard && !g.closed {
		g.cfg.Guard = c
		g.judge()
	}
}

// MovesAlong reports whether the fleet is being moved, and this client takes part.
func (g *Monitor) MovesAlong() bool {
	if g == nil {
		return false
	}
	g.mu.Lock()
	defer g.unlock()
	return g.cfg.Guard.MovesAlong(g.facts())
}

// AwaitFleetID looks at the masters and returns the fleet's id; "": a quorum of them does
// not tell it. to is where the fleet is being moved itself; "": nowhere. The error is what
// ended the wait.
func (g *Monitor) AwaitFleetID(ctx context.Context) (id, to string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, initLimit, errInitLimit)
	defer cancel()
	g.lookAnew()
	if err := g.awaitLooks(ctx); err != nil {
		return "", "", err
	}
	g.mu.Lock()
	defer g.unlock()
	return g.fleet, guard.Elsewhere(g.facts(), ""), nil
}

// askClosing tells masters that the fleet is being moved, and reports whether it asks
// anybody. The caller must hold g.mu.
func (g *Monitor) askClosing(masters []int, to string) bool {
	return g.askFleet(guard.Plan{Masters: masters, Fleet: g.fleet}, func(t guard.Target, seen string) []any {
		return g.cfg.Guard.CloseArgs(t, seen, to, false)
	})
}

// errNotTold is the reason of a master that may not know of the move.
var errNotTold = errors.New("it may not know of the move yet: run this again")

// CloseFleet tells all masters that the fleet is being moved (see redlock.Client.CloseFleet).
// reasons says why a master does not say so; nil where it does. Where the fleet is being
// moved elsewhere already nothing is written, unless force is set. The error is
// what ended the wait before anything was written: ctx's error, or the cause of Life.
func (g *Monitor) CloseFleet(ctx context.Context, to string, force bool) (closing guard.Closing, reasons []error, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, initLimit, errInitLimit)
	defer cancel()
	g.lookAnew()
	if err := g.awaitLooks(ctx); err != nil {
		return closing, nil, err
	}
	asked, elsewhere := g.startClosing(to, force)
	for _, q := range asked {
		select {
		case <-q.done:
		case <-ctx.Done():
		}
	}
	if force {
		// Another one by force, at the same time, may have written over this one.
		g.lookAnew()
		_ = g.awaitLooks(ctx)
	}
	closing, reasons = g.closingTo(to)
	if elsewhere != "" {
		closing.Done, closing.Elsewhere = false, elsewhere
	}
	return closing, reasons, nil
}

// startClosing asks all masters whose marker is of this fleet and does not name the move.
// elsewhere is where the fleet is being moved already: then it asks none.
func (g *Monitor) startClosing(to string, force bool) (asked []*inquiry, elsewhere string) {
	g.mu.Lock()
	defer g.unlock()
	if elsewhere = guard.Elsewhere(g.facts(), to); elsewhere != "" && !force {
		return nil, elsewhere
	}
	for i := range g.masters {
		w := &g.masters[i]
		m := w.facts.Marker
		if w.epoch == 0 || w.facts.MarkerErr != nil || w.facts.Changed || !m.Written() || m.To == to {
			continue
		}
		q := g.ask(i, askFleet, guard.Fleet, g.fleet, func(t guard.Target) []any { return g.cfg.Guard.CloseArgs(t, m.Fleet, to, force) })
		q.done = make(chan struct{})
		asked = append(asked, q)
		g.send = append(g.send, q)
	}
	return asked, ""
}

// closingTo is how far the move's closing is now, and why a master is not closed.
func (g *Monitor) closingTo(to string) (guard.Closing, []error) {
	g.mu.Lock()
	defer g.unlock()
	facts, now := g.facts(), g.cfg.Clock.Now()
	closing := g.cfg.Guard.ClosingTo(facts, to, now)
	reasons := make([]error, len(facts))
	for i, s := range g.standings(facts, now) {
		switch {
		case slices.Contains(closing.Closed, i):
		case s.Why != nil && s.Why.Cause != guard.Quarantined && s.Why.Cause != guard.Moved:
			reasons[i] = s.Why
		case facts[i].Marker.To != "":
			reasons[i] = fmt.Errorf("it says that the fleet is being moved to %q", facts[i].Marker.To)
		default:
			reasons[i] = errNotTold
		}
	}
	return closing, reasons
}

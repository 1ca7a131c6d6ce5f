package redlock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/go-multierror"

	"github.com/redquorum/redquorum/internal/guard"
)

// An InitOption changes what Init does.
type InitOption func(*initOptions)

type initOptions struct{ force bool }

// ForceInit makes Init write the markers anew where there are some: to change
// MaxTTL, the number of masters or the guard level of a fleet. All masters then
// vote after the quarantine, when whatever was locked under the old settings has
// expired. Stop or reconfigure the clients first: those with the old settings
// find no master that lets them vote.
func ForceInit() InitOption { return func(o *initOptions) { o.force = true } }

// Init declares a new fleet: its masters vote at once. An operator does so, or
// a script that sets up masters, when no lock can be held on any of them; it is
// never part of a program's start, which could not know that.
//
// It asks all masters first, and does nothing unless each can be reached, is fit
// to be one and has no marker yet, but for what this client has just had written;
// of masters that all have the marker of this
// fleet and were declared new already it returns nil. The error is a
// *QuorumError that matches ErrNoQuorum and names every master and what its
// marker says. It blocks until ctx ends, at the most for 5 s.
func (c *Client) Init(ctx context.Context, opts ...InitOption) error {
	var o initOptions
	for _, opt := range opts {
		opt(&o)
	}
	switch {
	case c.guardian == nil:
		return errors.New("redlock: init: WithGuard(GuardOff) keeps no markers: want GuardStandard or GuardStrict")
	case c.isClosed():
		return fmt.Errorf("redlock: init: %w", ErrClosed)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, initLimit, errInitLimit)
	defer cancel()
	return c.guardian.init(ctx, o.force)
}

const initLimit = 5 * time.Second

var errInitLimit = errors.New("not all masters have answered")

// init does it.
func (g *guardian) init(ctx context.Context, force bool) error {
	began := time.Now()
	if err := g.awaitLooks(ctx); err != nil {
		return err
	}
	reasons, declared := g.unfit(force)
	if declared {
		return nil
	}
	if err := g.initError(reasons, began); err != nil {
		return err
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
	return g.initError(reasons, began)
}

var errInitUnknown = errors.New("no answer: its marker may have been written, ask again")

// awaitLooks waits until every master was looked at, or cannot be reached.
func (g *guardian) awaitLooks(ctx context.Context) error {
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
		case <-g.c.closing:
			return fmt.Errorf("redlock: init: %w", ErrClosed)
		case <-ctx.Done():
			if cause := context.Cause(ctx); !errors.Is(cause, errInitLimit) {
				return fmt.Errorf("redlock: init: nothing was written: %w", cause)
			}
			return nil // and those that are missing are named
		}
	}
}

// unfit says for each master why it keeps the fleet from being declared; nil
// where it does not. declared: all of them are what Init would make of them.
func (g *guardian) unfit(force bool) (reasons []error, declared bool) {
	g.mu.Lock()
	defer g.unlock()
	reasons = make([]error, len(g.masters))
	standings := g.standings(g.facts(), g.c.opts.clock.Now())
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

// initError is the error of an Init that has these reasons; nil: there are none.
func (g *guardian) initError(reasons []error, began time.Time) error {
	e := &QuorumError{
		Op: "init", Need: len(reasons), Total: len(reasons), kind: ErrNoQuorum,
		Elapsed: time.Since(began), Nodes: &multierror.Error{ErrorFormat: joinNodes},
	}
	for i, err := range reasons {
		if err == nil {
			e.OK++
			continue
		}
		e.Nodes.Errors = append(e.Nodes.Errors, &NodeError{Master: g.c.masters[i].Name(), Op: e.Op, Err: err})
	}
	if e.OK == e.Total {
		return nil
	}
	return e
}

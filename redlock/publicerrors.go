package redlock

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/go-multierror"

	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/outcome"
	"github.com/redquorum/redquorum/internal/wire"
)

// The rooms below fail with plain facts. Here they become the errors that users see.

// failureError is the public error of a call that has failed.
func (c *Client) failureError(f *outcome.Failure) error {
	if errors.Is(f.Cause, ErrClosed) {
		return fmt.Errorf("redlock: %s %q: %w", f.Op, f.Key, ErrClosed)
	}
	return c.quorumError(f) // each caller's error is its own
}

// quorumError makes the public error of what has failed.
func (c *Client) quorumError(f *outcome.Failure) *QuorumError {
	e := &QuorumError{
		Op: f.Op, Key: f.Key, OK: f.OK, Need: f.Need, Total: f.Total, Elapsed: f.Elapsed,
		others: f.Others, cause: f.Cause, note: f.Note, clock: (*ClockError)(f.Clock),
		kind: [...]error{outcome.NoQuorum: ErrNoQuorum, outcome.Taken: ErrTaken, outcome.NotHeld: ErrNotHeld}[f.Kind],
	}
	nodes, parts := make([]error, 0, len(c.group.Masters)), make([]NodeError, len(c.group.Masters)) // all in two allocations
	for i, m := range c.group.Masters {
		if err := c.publicPart(c.judged(f, partOf(f, i))); err != nil {
			parts[i] = NodeError{Master: m.Name(), Op: f.Op, Err: err}
			nodes = append(nodes, &parts[i])
		}
	}
	if len(nodes) > 0 {
		e.Nodes = &multierror.Error{Errors: nodes, ErrorFormat: joinNodes}
	}
	return e
}

// judged puts the guard's judgement of a master in the place of what the master said, if
// that could not have counted. A first lock goes out before the masters are judged: what a
// member of a cluster answers, say, is not the cause. A master that was not awaited would
// not have counted either.
func (c *Client) judged(f *outcome.Failure, p outcome.Part) outcome.Part {
	if p.Err == nil && (p.Held == nil || f.Kind != outcome.NoQuorum) {
		return p // it agreed, or another has the lock
	}
	why := c.voters.AbstainsNow(p.Master, c.opts.clock.Now())
	switch {
	case why == nil:
	case p.Err == ErrNotAwaited && f.Kind == outcome.NoQuorum, //nolint:errorlint // it is never wrapped
		!why.Cause.Passes() && f.Op != wire.OpRelease.String(): // a release needs no vote
		return outcome.Part{Master: p.Master, Err: why}
	}
	return p
}

// partOf is the part of a master in a failure; zero: it agreed.
func partOf(f *outcome.Failure, master int) outcome.Part {
	for _, p := range f.Parts {
		if p.Master == master {
			return p
		}
	}
	if f.Agreed.Has(master) {
		return outcome.Part{}
	}
	return outcome.Part{Master: master, Err: ErrNotAwaited}
}

// joinNodes keeps the errors of all masters on one line, and those that were not
// awaited together at its end.
func joinNodes(errs []error) string {
	var texts, others []string
	for _, err := range errs {
		if n, ok := err.(*NodeError); ok && n.Err == ErrNotAwaited { //nolint:errorlint // they are never wrapped
			others = append(others, n.Master)
			continue
		}
		texts = append(texts, strings.TrimSuffix(err.Error(), ".")) // Redis ends some errors so
	}
	switch len(others) {
	case 0:
	case 1:
		texts = append(texts, others[0]+": "+ErrNotAwaited.Error())
	default:
		texts = append(texts, strings.Join(others, ", ")+": not awaited: the attempt was decided without them")
	}
	return strings.Join(texts, "; ")
}

// publicPart is a master's part as users see it; nil: it agreed.
func (c *Client) publicPart(p outcome.Part) error {
	switch held := (*HeldError)(p.Held); {
	case held != nil && c.made(held.Token):
		own := *held // which others may look at
		own.Own = true
		return &own
	case held != nil:
		return held
	}
	return publicCause(p.Err)
}

// publicCause is why a master did not agree as users see it.
func publicCause(err error) error {
	switch err := err.(type) { //nolint:errorlint // none of them is ever wrapped
	case *wire.SkewError:
		return (*SkewError)(err)
	case *guard.AbstainError:
		return publicAbstention(err)
	default:
		if err == wire.ErrNotAwaited { //nolint:errorlint // as above
			return ErrNotAwaited
		}
		return err
	}
}

package redlock

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/go-multierror"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/token"
	"github.com/redquorum/redquorum/internal/voters"
	"github.com/redquorum/redquorum/internal/wire"
)

// A publicErrors makes public errors of failures, which the internal packages report as plain facts.
type publicErrors struct {
	group  *quorum.Group
	voters *voters.Monitor
	clock  drift.Clock
	id     string // the client's part of its tokens
}

// failureError is the public error of a call that has failed.
func (pe *publicErrors) failureError(f *quorum.Failure) error {
	if errors.Is(f.Cause, ErrClosed) {
		return fmt.Errorf("redlock: %s %q: %w", f.Op, f.Key, ErrClosed)
	}
	return pe.quorumError(f) // each caller's error is its own
}

// endedBy returns the error of a call that has failed. If the call's context has ended by then, the
// error also matches the context's error. endedBy may change err: it must be the call's own.
func endedBy(ctx context.Context, err error) error {
	cause := ctx.Err()
	if err == nil || cause == nil || errors.Is(err, cause) {
		return err
	}
	if q, ok := err.(*QuorumError); ok && q.cause == nil { //nolint:errorlint // as above
		q.cause = cause
		return q
	}
	return fmt.Errorf("%w (%w)", err, cause)
}

// quorumError makes the public error of what has failed.
func (pe *publicErrors) quorumError(f *quorum.Failure) *QuorumError {
	e := &QuorumError{
		Op: f.Op, Key: f.Key, OK: f.OK, Need: f.Need, Total: f.Total, Elapsed: f.Elapsed,
		others: f.Others, cause: f.Cause, note: f.Note,
		kind: [...]error{quorum.NoQuorum: ErrNoQuorum, quorum.Taken: ErrTaken, quorum.NotHeld: ErrNotHeld}[f.Kind],
	}
	// All in two allocations.
	nodes, parts := make([]error, 0, len(pe.group.Masters)), make([]NodeError, len(pe.group.Masters))
	for i, m := range pe.group.Masters {
		if err := pe.publicPart(pe.judged(f, partOf(f, i))); err != nil {
			parts[i] = NodeError{Master: m.Name(), Op: f.Op, Err: err, position: i + 1}
			nodes = append(nodes, &parts[i])
		}
	}
	if len(nodes) > 0 {
		e.Nodes = &multierror.Error{Errors: nodes, ErrorFormat: joinNodes}
	}
	return e
}

// judged replaces a master's answer by the guard's judgment of the master, if the answer could not
// have counted: the answer of a cluster member, for example, is not the cause. It does so for a
// master that was not awaited, too.
func (pe *publicErrors) judged(f *quorum.Failure, p quorum.Part) quorum.Part {
	if p.Err == nil && (p.Held == nil || f.Kind != quorum.NoQuorum) {
		return p // it agreed, or another has the lock
	}
	why := pe.voters.AbstainsNow(p.Master, pe.clock.Now())
	switch {
	case why == nil:
	case p.Err == ErrNotAwaited && f.Kind == quorum.NoQuorum, //nolint:errorlint // it is never wrapped
		!why.Passes() && f.Op != wire.OpRelease.String(): // a release needs no vote
		return quorum.Part{Master: p.Master, Err: why}
	}
	return p
}

// partOf returns a master's part in a failure; zero: it agreed.
func partOf(f *quorum.Failure, master int) quorum.Part {
	for _, p := range f.Parts {
		if p.Master == master {
			return p
		}
	}
	if f.Agreed.Has(master) {
		return quorum.Part{}
	}
	return quorum.Part{Master: master, Err: ErrNotAwaited}
}

// publicPart returns a master's part as users see it; nil: it agreed.
func (pe *publicErrors) publicPart(p quorum.Part) error {
	switch held := (*Holder)(p.Held); {
	case held != nil && pe.made(held.Token):
		own := *held // a copy, since others may read the original
		own.Own = true
		return &own
	case held != nil:
		return held
	}
	return publicCause(p.Err)
}

// publicCause returns the reason why a master did not agree, as users see it.
func publicCause(err error) error {
	switch err := err.(type) { //nolint:errorlint // none of them is ever wrapped
	case *guard.AbstainError:
		return (*AbstainError)(err)
	default:
		if err == wire.ErrNotAwaited { //nolint:errorlint // as above
			return ErrNotAwaited
		}
		return err
	}
}

// made reports whether this client made the token. It may have handed the hold over since.
func (pe *publicErrors) made(holder string) bool {
	_, client, ok := token.Parse(holder)
	return ok && client == pe.id
}

package redlock

import (
	"context"

	"github.com/redquorum/redquorum/internal/hold"
	"github.com/redquorum/redquorum/internal/wire"
)

// owner implements hold.Owner on a Lock: it turns events of the hold into traces, logs and
// public errors.
type owner Lock

// Context implements hold.Owner. It is nil if there is nothing to report to.
func (o *owner) Context() context.Context { return o.traceCtx }

// Answered implements hold.Owner.
func (o *owner) Answered(ctx context.Context, a *wire.Ask) {
	l := (*Lock)(o)
	l.c.tracer.parts(ctx, a, l)
}

// Held implements hold.Owner.
func (o *owner) Held() { (*Lock)(o).traceHeld() }

// Renewed implements hold.Owner.
func (o *owner) Renewed(r *hold.Renewed) func() { return (*Lock)(o).traceRenewal(r) }

// Cause implements hold.Owner.
func (o *owner) Cause(loss *hold.Loss) error {
	l := (*Lock)(o)
	e := &LostError{Key: l.Key(), Reason: reasonOf(loss.Reason), Planned: loss.Planned}
	if loss.Failure != nil {
		e.Err = l.c.errs.quorumError(loss.Failure)
	}
	return e
}

// reasonOf returns the public name of a reason for a loss.
func reasonOf(r hold.Reason) Reason {
	return [...]Reason{
		hold.Expired: ReasonExpired, hold.Taken: ReasonTaken,
		hold.Unreachable: ReasonUnreachable, hold.Closed: ReasonClosed,
	}[r]
}

// lostError returns the error that Cause has made of a loss.
func lostError(loss *hold.Loss) *LostError {
	return loss.Cause.(*LostError) //nolint:errorlint // nobody wraps it
}

// Released implements hold.Owner. It ends the lock's context before it reports the end.
func (o *owner) Released(end hold.End) {
	l := (*Lock)(o)
	l.handle.EndContext()
	var lost *LostError
	if end.Loss != nil {
		lost = lostError(end.Loss)
		l.traceLost(end.At.Wall(), lost)
	}
	l.traceReleased(&end, lost)
}

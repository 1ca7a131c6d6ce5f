package redlockprom

import (
	"context"
	"errors"

	"github.com/redquorum/redquorum/redlock"
)

// Trace returns the trace to give to the client (redlock.WithTrace). redlock.JoinTraces joins
// it with others. Counting costs a few atomic additions for each lock, and no allocation.
func (c *Collector) Trace() *redlock.Trace {
	return &redlock.Trace{
		Begin: func(_ context.Context, i redlock.BeginInfo) context.Context {
			c.class(i.Key).waiting.Inc()
			return nil
		},
		Attempt: func(i redlock.AttemptInfo) { c.class(i.Key).attempts.inc(callResult(i.Err)) },
		Retry:   func(i redlock.AttemptInfo) { c.class(i.Key).retries.inc(retryReason(i.Err)) },
		Wait:    c.wait,
		Held: func(_ context.Context, l *redlock.Lock) context.Context {
			c.class(l.Key()).held.Inc()
			return nil
		},
		Renewal: func(i redlock.ExtendInfo) {
			of := c.class(i.Key)
			of.renewals.inc(keepResult(i.Err))
			of.renewing.Observe(i.Elapsed.Seconds())
		},
		Extend: func(i redlock.ExtendInfo) {
			c.class(i.Key).extensions[i.Op].inc(keepResult(i.Err))
		},
		Lost: func(l *redlock.Lock, err *redlock.LostError) {
			if !err.Planned {
				c.class(l.Key()).losses.inc(string(err.Reason))
			}
		},
		Released: func(i redlock.ReleasedInfo) {
			of := c.class(i.Key)
			of.held.Dec()
			of.holds.observe(holdEnd(&i), i.Held)
		},
		Unlock: func(i redlock.UnlockInfo) {
			c.class(i.Key).unlocks.observe(unlockResult(i.Err), i.Elapsed)
		},
	}
}

func (c *Collector) wait(i redlock.WaitInfo) {
	of := c.class(i.Key)
	of.waiting.Dec()
	if i.Attempts == 0 && i.Err == nil {
		of.reentered.Inc()
		return
	}
	if i.Attempts > 1 || errors.Is(i.Err, redlock.ErrTaken) {
		of.contended.Inc()
	}
	of.waits.observe(callResult(i.Err), i.Waited)
}

// These are the values of labels that distinguish events.
var (
	callResults   = []string{"acquired", "taken", "no_quorum", "cancelled", "refused"}
	retryReasons  = []string{"taken", "no_quorum"}
	holdEnds      = []string{"unlocked", "lost", "handed_over", "closed", "planned"}
	keepResults   = []string{"ok", "failed", "lost"}
	extendOps     = []string{"extend", "verify"}
	lossReasons   = []string{"expired", "taken", "unreachable", "closed"}
	unlockResults = []string{"released", "unconfirmed", "not_held"}
)

func holdEnd(i *redlock.ReleasedInfo) string {
	switch {
	case i.HandedOver:
		return "handed_over"
	case i.Lost == nil:
		return "unlocked"
	case i.Lost.Planned:
		return "planned"
	case i.Lost.Reason == redlock.ReasonClosed:
		return "closed"
	default:
		return "lost"
	}
}

// callResult is the result of a call or an attempt to acquire. For a call that gave up because
// its context's deadline passed, it is what the call waited for: "taken" or "no_quorum".
func callResult(err error) string {
	switch {
	case err == nil:
		return "acquired"
	case errors.Is(err, context.Canceled), errors.Is(err, redlock.ErrClosed):
		return "cancelled"
	case errors.Is(err, redlock.ErrNoQuorum):
		return "no_quorum"
	case errors.Is(err, redlock.ErrTaken):
		return "taken"
	case errors.Is(err, context.DeadlineExceeded):
		return "cancelled"
	default:
		return "refused"
	}
}

func retryReason(err error) string {
	if errors.Is(err, redlock.ErrNoQuorum) {
		return "no_quorum"
	}
	return "taken"
}

// keepResult is the result of a renewal, an extension or a verification.
func keepResult(err error) string {
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, redlock.ErrLost):
		return "lost"
	default:
		return "failed"
	}
}

func unlockResult(err error) string {
	switch {
	case err == nil:
		return "released"
	case errors.Is(err, redlock.ErrNotHeld):
		return "not_held"
	default:
		return "unconfirmed"
	}
}

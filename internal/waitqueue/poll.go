package waitqueue

import (
	"context"

	"github.com/redquorum/redquorum/internal/outcome"
	"github.com/redquorum/redquorum/internal/pilot"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/wire"
)

// poll attempts until it succeeds, the tries are used up, an outage lasts too long, or
// ctx or the client ends.
func (r *Room) poll(ctx context.Context, want *Want, c Caller) *outcome.Failure {
	var out outage
	var last *outcome.Failure
	for attempt := 1; ; attempt++ {
		failed := r.attemptPolling(ctx, want, c)
		c.Attempted(attempt, failed)
		switch {
		case failed == nil:
			return nil
		case failed.Cause != nil:
			if last == nil { // else what was learnt before says more
				last = failed
			}
			return endedBy(last, failed.Cause)
		case attempt == want.Tries:
			return failed
		}
		if over := out.note(failed, r.cfg.OutageWait); over && (want.Tries == 0 || misconfigured(failed)) {
			return failed
		}
		delay := r.retryDelay(want, attempt, out.failures, failed)
		c.Pausing(attempt, delay, failed)
		if cause := r.pause(ctx, delay); cause != nil {
			return endedBy(failed, cause)
		}
		last = failed
	}
}

// attemptPolling is an attempt of a call that does not queue. If fairness was asked for, it
// must not overtake the calls of this client that do.
func (r *Room) attemptPolling(ctx context.Context, want *Want, c Caller) *outcome.Failure {
	if _, occupied := r.lines.occupied(want); want.Fair && occupied {
		failed := c.Taken(pilot.None, nil)
		failed.Note = "others of this client wait for it"
		return failed
	}
	return r.attempt(ctx, want, c, true)
}

// attempt is an attempt without a place in the queue. A call that asked for fairness lets
// calls with a place go first.
func (r *Room) attempt(ctx context.Context, want *Want, c Caller, holders bool) *outcome.Failure {
	if !want.Fair || want.Kind != wire.Plain {
		return c.All(ctx, holders)
	}
	for passed := quorum.Bits(0); ; {
		master := r.cfg.Pilots.Of(want.key(), passed)
		if master == pilot.None {
			return c.All(ctx, holders)
		}
		granted, t, err := c.Pilot(ctx, master, want.key(), wire.Place{Score: wire.NoPlace, OnlyFirst: true})
		switch {
		case granted:
			return c.Others(ctx, holders)
		case err == nil:
			return c.Taken(master, t.Held)
		case r.ends(err):
			return endedBy(c.Taken(master, nil), err)
		}
		passed.Add(master)
	}
}

// endedBy is the failure of a wait that was cut short.
func endedBy(failed *outcome.Failure, cause error) *outcome.Failure {
	failed.Cause = cause
	return failed
}

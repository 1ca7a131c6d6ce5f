package waitqueue

import (
	"context"
	"time"

	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/wire"
)

// poll makes attempts until one succeeds, the tries are used up, an outage lasts too long, or
// ctx or the client ends.
func (r *Room) poll(ctx context.Context, want *Options, c Attempter) *quorum.Failure {
	var out outage
	var last *quorum.Failure
	for attempt := 1; ; attempt++ {
		keys := want.Keys
		if want.Fair || want.once() && want.Kind == wire.Plain { // it overtakes no call of this client that queues
			keys = r.localQueues.unoccupied(want)
		}
		var failed *quorum.Failure
		if want.oneOf() && len(keys) > 0 {
			failed = r.pass(ctx, want, c, keys)
		} else if failed = r.yieldPolling(ctx, want, c, len(keys) == 0); failed == nil {
			failed = c.All(ctx, true)
		}
		c.Attempted(attempt, failed)
		switch {
		case failed == nil:
			return nil
		case failed.Cause != nil:
			if last == nil { // otherwise the earlier failure says more
				last = failed
			}
			return endedBy(last, failed.Cause)
		case attempt == want.Tries:
			return failed
		}
		if over := r.note(&out, failed); over && (want.Tries == 0 || misconfigured(failed)) {
			return failed
		}
		delay := r.retryDelay(want, attempt, out.failures, failed)
		c.Pausing(attempt, delay, failed)
		sleep := func(d time.Duration, ready <-chan struct{}) error { return r.pause(ctx, d, ready) }
		if cause := r.pauseBetween(&out, want, delay, nil, sleep); cause != nil {
			return endedBy(failed, cause)
		}
		last = failed
	}
}

// yieldPolling does what yieldAtPilot does, for a call that polls. occupied: calls of this client
// wait for the key.
func (r *Room) yieldPolling(ctx context.Context, want *Options, c Attempter, occupied bool) *quorum.Failure {
	switch {
	case !occupied:
		return r.yieldAtPilot(ctx, want, c, want.key())
	case want.Kind == wire.Plain && r.quorumVotes():
		return r.yieldHere(ctx, want, c)
	case want.Kind == wire.Plain: // an outage is reported as one
		return nil
	default:
		return r.behind(c.Taken(quorum.NoPilot, nil))
	}
}

// yieldHere returns the failure of a call that leaves a key to other calls of this client, with
// what the pilot says of the key.
func (r *Room) yieldHere(ctx context.Context, want *Options, c Attempter) *quorum.Failure {
	all, cause := r.look(ctx, want, want.Keys)
	if cause != nil {
		return r.unanswered(c, quorum.NoPilot, cause)
	}
	if soonest := soonestOf(all); soonest.held != nil {
		return r.behind(c.Taken(soonest.master, soonest.held))
	}
	return r.behind(c.Taken(quorum.NoPilot, nil))
}

func (r *Room) behind(failed *quorum.Failure) *quorum.Failure {
	failed.Note = "others of this client wait for it"
	return failed
}

// yieldAtPilot is called before an attempt without a place in the queue. It returns the failure of
// a call that leaves the key to calls with a place; nil: all masters are asked next. A call that
// asked for fairness lets those go first. A call that does not wait does so too if calls waited
// for the key lately: a loop of such calls would otherwise take most turns. key is the one to ask
// for if one of several is wanted.
func (r *Room) yieldAtPilot(ctx context.Context, want *Options, c Attempter, key string) *quorum.Failure {
	yields := want.Fair || want.once() && !want.oneOf() && r.recent.has(key) && r.quorumVotes()
	if !yields || want.Kind != wire.Plain {
		return nil
	}
	for passed := quorum.MasterSet(0); ; {
		master := r.cfg.Pilots.Of(key, passed)
		if master == quorum.NoPilot || want.once() && want.left() == 0 {
			return nil
		}
		granted, t, err := c.Pilot(ctx, master, wire.Place{Score: wire.NoPlace, OnlyFirst: true})
		switch {
		case granted:
			return nil
		case err == nil:
			return c.Taken(master, t.Held)
		case r.ends(err):
			return r.unanswered(c, master, err)
		}
		passed.Add(master)
	}
}

// unanswered returns the failure of an attempt that was cut short while it asked pilots.
func (r *Room) unanswered(c Attempter, master int, cause error) *quorum.Failure {
	failed := c.Taken(master, nil)
	failed.Kind = quorum.NoQuorum
	return endedBy(failed, cause)
}

// endedBy returns the failure of a wait that was cut short.
func endedBy(failed *quorum.Failure, cause error) *quorum.Failure {
	failed.Cause = cause
	return failed
}

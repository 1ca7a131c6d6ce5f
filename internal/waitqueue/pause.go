package waitqueue

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/redquorum/redquorum/internal/chance"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/wire"
)

// How long a call waits, and what ends its wait.

const (
	minRetryDelay  = 50 * time.Millisecond
	maxRetryDelay  = 250 * time.Millisecond
	maxOutageDelay = time.Second
)

// An outage counts attempts in a row that found no quorum.
type outage struct {
	failures int
	since    time.Time
	asked    time.Time // when the last attempt began
	last     bool      // its time is over, and one more attempt is made
}

// note counts a failed attempt. It reports whether the outage has lasted for OutageWait, or will
// not end by waiting. If its time is over, but a quorum votes now or began to vote since the
// last attempt, one more attempt is made.
func (r *Room) note(o *outage, failed *quorum.Failure) (over bool) {
	if failed.Kind != quorum.NoQuorum {
		*o = outage{}
		return false
	}
	if o.failures++; o.failures == 1 {
		o.since = time.Now().Add(-failed.Elapsed)
		o.asked = o.since
	}
	limit := r.cfg.OutageWait
	switch over = misconfigured(failed); {
	case over || time.Since(o.since) < limit:
		return over
	case o.last || limit == 0 || !isClosed(r.cfg.Voters.Begins(o.asked)) && !r.quorumVotes():
		return true
	}
	o.last = true
	return false
}

// pauseBetween pauses between two attempts. In an outage the masters are dialled sooner meanwhile,
// and the pause ends soon after a quorum has begun to vote, at a random moment, because many calls
// may wait for that. A quorum that votes already does not end it: its masters may refuse every
// lock. sleep pauses until its ready is closed. ready ends the pause if there is no outage.
func (r *Room) pauseBetween(
	o *outage, want *Options, delay time.Duration,
	ready <-chan struct{}, sleep func(d time.Duration, ready <-chan struct{}) error,
) (err error) {
	if o.failures == 0 || want.Backoff != nil {
		return sleep(delay, ready)
	}
	r.cfg.Voters.AddWaiting(1)
	defer r.cfg.Voters.AddWaiting(-1)
	begins, began := r.cfg.Voters.Begins(o.asked), time.Now()
	if !o.last {
		err = sleep(delay, begins)
	}
	if err == nil && (o.last || isClosed(begins)) {
		err = sleep(max(0, minRetryDelay-time.Since(began))+r.cfg.Chance.N("begin", minRetryDelay), nil)
	}
	o.asked = time.Now() // the attempt follows
	return err
}

// misconfigured reports whether so many masters need a change of configuration that the
// others are no quorum.
func misconfigured(failed *quorum.Failure) bool {
	usable := failed.Total
	for _, p := range failed.Parts {
		if p.Held == nil && IsLasting(p.Err) {
			usable--
		}
	}
	return usable < failed.Need
}

// IsLasting reports whether a master's failure will not end by itself. A replica may be
// promoted at any moment, and a time service may set a clock right.
func IsLasting(err error) bool {
	if pipeline.IsLasting(err) {
		return true
	}
	why, ok := errors.AsType[*guard.AbstainError](err)
	return ok && !why.Passes() && why.Cause != guard.NotMaster && why.Cause != guard.OffClock
}

// retryDelay returns the pause after a failed attempt. It has a random part, so that calls that
// have collided do not collide again. While there is no quorum it grows.
func (r *Room) retryDelay(want *Options, attempt, failures int, failed *quorum.Failure) time.Duration {
	if f := want.Backoff; f != nil {
		return max(0, f(attempt))
	}
	delay := minRetryDelay + r.cfg.Chance.N("retry", maxRetryDelay-minRetryDelay)
	if failures > 0 {
		return min(delay<<min(failures-1, 8), maxOutageDelay)
	}
	if free, ok := freeAfter(failed); ok {
		delay = min(delay, afterExpiry(free, r.cfg.Chance, "retry"))
	}
	return delay
}

// freeAfter returns how long it takes until the keys of others have expired on enough masters
// for a quorum, if that is known.
func freeAfter(failed *quorum.Failure) (time.Duration, bool) {
	usable := failed.OK
	var ttls []time.Duration
	for _, p := range failed.Parts {
		switch h := p.Held; {
		case h == nil || h.TTL < 0:
		case h.Type == "none":
			usable++
		case h.TTL > 0:
			ttls = append(ttls, h.TTL)
		}
	}
	more := failed.Need - usable // masters that have to become free
	if more <= 0 {
		return 0, true
	}
	if more > len(ttls) {
		return 0, false
	}
	slices.Sort(ttls)
	return ttls[more-1], true
}

// freeIn returns the time until the pilot's key expires, limit at most.
func freeIn(t *wire.Turn, random *chance.Source, limit time.Duration) time.Duration {
	if t.Held == nil || t.Held.TTL <= 0 {
		return limit
	}
	return min(limit, afterExpiry(t.Held.TTL, random, "poll"))
}

// afterExpiry returns how long to wait before asking for a key with so much time left. left
// is in whole milliseconds, rounded down. In its last millisecond a key is still refused.
func afterExpiry(left time.Duration, random *chance.Source, what string) time.Duration {
	return left + time.Millisecond + random.N(what, 5*time.Millisecond)
}

// pause waits for d, or until ready is closed, or returns what ended the wait.
func (r *Room) pause(ctx context.Context, d time.Duration, ready <-chan struct{}) error {
	return quorum.Pause(ctx, r.cfg.Closing, d, ready)
}

// ends reports whether an error ends the waiting: the context's, or the client's.
func (r *Room) ends(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) ||
		r.cfg.Closing.Err() != nil && errors.Is(err, context.Cause(r.cfg.Closing))
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

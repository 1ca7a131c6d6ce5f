package redlock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/outcome"
	"github.com/redquorum/redquorum/internal/pilot"
	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/wire"
)

// Lock acquires the key. It waits while somebody else holds it, for as long as
// ctx allows, and is woken when that one releases it: those who wait are served
// about in the order of their coming (see WithFairness). With WithTries or
// WithBackoff it polls instead. While no quorum can be had it waits for
// WithOutageWait (3 s by default) and then returns ErrNoQuorum, so that an
// outage does not look like contention; at once where no waiting would mend it:
// so many masters refuse the password, permit too little, or have another
// configuration, that the others make no quorum. ctx bounds the waiting only,
// never the holding: the lock is held, and renewed, until Unlock.
//
// An error is a *QuorumError that matches ErrTaken or ErrNoQuorum, and ctx's
// error beside it if ctx ended the waiting; or ErrReentrant, ErrClosed, or one
// that names a bad argument.
func (c *Client) Lock(ctx context.Context, key string, opts ...LockOption) (*Lock, error) {
	return c.acquire(ctx, key, opts, false)
}

// TryLock is Lock with one attempt: it does not wait for a holder, nor queue up
// behind those who do. It blocks for about one round trip, two WithFairness, at
// the most for the masters' timeout.
func (c *Client) TryLock(ctx context.Context, key string, opts ...LockOption) (*Lock, error) {
	return c.acquire(ctx, key, opts, true)
}

func (c *Client) acquire(ctx context.Context, key string, opts []LockOption, once bool) (*Lock, error) {
	template, err := c.newLock(ctx, wire.OpLock, key, opts)
	if err != nil {
		return nil, err
	}
	return c.acquireLike(ctx, template, once)
}

// acquireLike acquires what a call is about, as newLock made it, unless the
// context carries a hold on one of the keys.
func (c *Client) acquireLike(ctx context.Context, template *Lock, once bool) (*Lock, error) {
	for i := range template.claim.Keys {
		key := template.nthKey(i)
		outer := c.holdIn(ctx, key)
		if outer == nil {
			continue
		}
		if l, err := c.reenter(ctx, outer, key, template); l != nil || err != nil {
			return l, err
		}
	}
	return c.acquireAs(ctx, template, once)
}

// acquireAs acquires what the template is for, in one attempt or as many as its
// options allow.
func (c *Client) acquireAs(ctx context.Context, template *Lock, once bool) (*Lock, error) {
	began := c.stopwatch()
	tries := template.opts.tries
	if once {
		tries = 1
	}
	call := c.traceBegin(ctx, wire.OpLock, template, once)
	template.told = call
	start := time.Now()
	l, attempts, err := c.acquireLoop(ctx, template, tries)
	if q, ok := err.(*QuorumError); ok { //nolint:errorlint // it is this call's own, not one that it has met
		q.Elapsed = time.Since(start)
	}
	c.traceWait(call, wire.OpLock, template, l, attempts, sinceStart(began), err)
	return l, err
}

// acquireLoop attempts until it succeeds, tries (if not 0) are used up, an
// outage lasts too long, or ctx or the client ends.
func (c *Client) acquireLoop(ctx context.Context, l *Lock, tries int) (*Lock, int, error) {
	if tries == 0 && l.queues() {
		return c.acquireQueued(ctx, l)
	}
	call := l.told
	var out outage
	var last *outcome.Failure
	for attempt := 1; ; attempt++ {
		err := c.attemptPolling(ctx, l)
		c.traceAttempt(call, l, attempt, err)
		switch {
		case err == nil:
			return l, attempt, nil
		case err.Cause != nil:
			// Cut short: what was learnt before says more.
			if last == nil {
				last = err
			}
			return nil, attempt, c.endedBy(last, err.Cause)
		case attempt == tries:
			return nil, attempt, c.quorumError(err)
		}
		if over := out.note(err, c.opts.outage); over && (tries == 0 || misconfigured(err)) {
			return nil, attempt, c.quorumError(err)
		}
		delay := c.retryDelay(l, attempt, out.failures, err)
		l.traceRetry(call, attempt, delay, err)
		if cause := c.pause(ctx, delay); cause != nil {
			return nil, attempt, c.endedBy(err, cause)
		}
		last = err
		// A handle that was rolled back is of no more use: the late answers
		// of its attempt are still on their way.
		l = l.again()
	}
}

// queues reports whether a call waits in queues rather than polls: not where the
// caller has said how often, or when, to try.
func (l *Lock) queues() bool {
	return l.opts.backoff == nil && (l.claim.Kind.Queued || l.isSet() || l.claim.Kind.OneOf && !l.c.wire.Scripted(&l.claim))
}

// acquireQueued attempts once, and then waits to be woken. While others of this
// client wait it only waits.
func (c *Client) acquireQueued(ctx context.Context, l *Lock) (*Lock, int, error) {
	w := newContender(c, l)
	var out outage
	if w.key, w.eager = l.asksFirst(); !w.eager && !(c.lines.anybody() && c.lines.occupied(l.line())) {
		err := c.attemptOnce(ctx, l, l.isSet())
		w.follow(err)
		w.over = err != nil && out.note(err, c.opts.outage)
		if over, err := w.tried(err); over {
			return w.result(err)
		}
	}
	return w.result(w.wait(ctx, out))
}

// attemptPolling is an attempt of a call that does not queue. Where fairness was
// asked for it must not overtake those of this client that do.
func (c *Client) attemptPolling(ctx context.Context, l *Lock) *outcome.Failure {
	if l.opts.fair && c.lines.anybody() && c.lines.occupied(l.line()) {
		err := c.takenAt(l, pilot.None, nil)
		err.Note = "others of this client wait for it"
		return err
	}
	return c.attemptOnce(ctx, l, true)
}

// endedBy is the error of a call that a context ended, or Close.
func (c *Client) endedBy(e *outcome.Failure, cause error) error {
	if errors.Is(cause, ErrClosed) {
		return fmt.Errorf("redlock: %s %q: %w", e.Op, e.Key, ErrClosed)
	}
	e.Cause = cause
	return c.quorumError(e)
}

// An outage counts attempts in a row for which no quorum could be had.
type outage struct {
	failures int
	since    time.Time
}

// note takes notice of a failed attempt and reports whether the outage has
// lasted for limit, or is one that no waiting ends.
func (o *outage) note(err *outcome.Failure, limit time.Duration) bool {
	if err.Kind != outcome.NoQuorum {
		o.failures = 0
		return false
	}
	if o.failures++; o.failures == 1 {
		o.since = time.Now().Add(-err.Elapsed)
	}
	return misconfigured(err) || time.Since(o.since) >= limit
}

// misconfigured reports whether so many masters need somebody to change a
// configuration that without them there is no quorum, whatever the others say.
func misconfigured(err *outcome.Failure) bool {
	usable := err.Total
	for _, p := range err.Parts {
		if p.Held == nil && isLasting(p.Err) {
			usable--
		}
	}
	return usable < err.Need
}

// isLasting reports whether a master's part will not change by itself. A replica
// may be promoted any moment, and a clock is set right by those that watch it.
func isLasting(err error) bool {
	if pipeline.IsLasting(err) {
		return true
	}
	why, ok := errors.AsType[*guard.AbstainError](err)
	return ok && !why.Cause.Passes() && why.Cause != guard.NotMaster && why.Cause != guard.OffClock
}

// retryDelay is the pause after a failed attempt. Contenders that collided
// must not collide again, hence the random part; while there is no quorum it
// grows.
func (c *Client) retryDelay(l *Lock, attempt, failures int, err *outcome.Failure) time.Duration {
	if f := l.opts.backoff; f != nil {
		return max(0, f(attempt))
	}
	delay := minRetryDelay + c.opts.chance.N("retry", maxRetryDelay-minRetryDelay)
	if failures > 0 {
		return min(delay<<min(failures-1, 8), maxOutageDelay)
	}
	if free, ok := c.freeIn(err); ok {
		delay = min(delay, free+c.opts.chance.N("retry", 5*time.Millisecond))
	}
	return delay
}

// freeIn is when the keys that are in the way will have expired on so many
// masters that a quorum can be had, if that is known.
func (c *Client) freeIn(err *outcome.Failure) (time.Duration, bool) {
	usable := err.OK
	var ttls []time.Duration
	for _, p := range err.Parts {
		switch h := p.Held; {
		case h == nil || h.TTL < 0:
		case h.Type == "none":
			usable++
		case h.TTL > 0:
			ttls = append(ttls, h.TTL)
		}
	}
	more := c.need - usable // masters that have to become free
	if more <= 0 {
		return 0, true
	}
	if more > len(ttls) {
		return 0, false
	}
	slices.Sort(ttls)
	return ttls[more-1], true
}

// pause waits for d, or returns what ended the wait.
func (c *Client) pause(ctx context.Context, d time.Duration) error {
	if cause := c.interrupted(ctx); cause != nil || d <= 0 {
		return cause
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-c.life.Done():
		return context.Cause(c.life)
	}
}

// interrupted is what has ended a call's waiting by now: its context, or Close.
func (c *Client) interrupted(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if c.isClosed() {
		return context.Cause(c.life)
	}
	return nil
}

// A reentrantError says which key it was.
type reentrantError struct{ key string }

func (e *reentrantError) Error() string {
	return fmt.Sprintf("redlock: lock %q: %v", e.key, ErrReentrant)
}

func (e *reentrantError) Unwrap() error { return ErrReentrant }

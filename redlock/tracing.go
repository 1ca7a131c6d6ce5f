package redlock

import (
	"context"
	"errors"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/pipeline"
)

// How the library tells its Trace. Nothing here may be called under a lock,
// but for what is said of replies.

// background stands for the context of what nobody made one for, boxed once.
var background = context.Background()

// orBackground is a context that may be given to a trace.
func orBackground(ctx context.Context) context.Context {
	if ctx == nil {
		return background
	}
	return ctx
}

// traceBegin tells of a call that begins, and gives the context of what else is
// told of it; nil where nobody listens.
func (c *Client) traceBegin(ctx context.Context, op operation, l *Lock, once bool) context.Context {
	t := c.opts.trace
	if t == nil {
		return nil
	}
	if t.Begin == nil {
		return ctx
	}
	info := BeginInfo{Op: op.String(), Key: l.key, Once: once}
	if len(l.others) > 0 {
		info.Keys = l.Keys()
	}
	if made := t.Begin(ctx, info); made != nil {
		return made
	}
	return ctx
}

// traceWait tells that a call has ended. l is nil with an error, and template
// what the call was for.
func (c *Client) traceWait(ctx context.Context, op operation, template, l *Lock, attempts int, waited time.Duration, err error) {
	t := c.opts.trace
	if t == nil || t.Wait == nil {
		return
	}
	key := template.key
	if l != nil {
		key = l.key // of several that would do
	}
	t.Wait(WaitInfo{Op: op.String(), Key: key, Attempts: attempts, Waited: waited, Lock: l, Err: err, Context: orBackground(ctx)})
}

// stopwatch reads the clock if a trace is told how long a call took.
func (c *Client) stopwatch() time.Time {
	if c.opts.trace == nil {
		return time.Time{}
	}
	return time.Now()
}

func sinceStart(began time.Time) time.Duration {
	if began.IsZero() {
		return 0
	}
	return time.Since(began)
}

// traceAttempt tells trace and log of an attempt that was decided.
func (c *Client) traceAttempt(call context.Context, l *Lock, attempt int, err *QuorumError) {
	if t := c.opts.trace; t != nil && t.Attempt != nil {
		info := AttemptInfo{Key: l.key, Token: l.token, Attempt: attempt, OK: int(l.granted), Need: c.need, Context: orBackground(call)}
		if err != nil {
			info.OK, info.Elapsed, info.Err = err.OK, err.Elapsed, err
		} else {
			info.Elapsed = c.opts.clock.Now().Sub(l.acquired)
		}
		t.Attempt(info)
	}
	c.logAttempt(l, attempt, err)
}

// traceRetry tells of a pause after the attempt that ended with err.
func (l *Lock) traceRetry(call context.Context, attempt int, delay time.Duration, err *QuorumError) {
	if t := l.c.opts.trace; t != nil && t.Retry != nil {
		t.Retry(RetryInfo{Key: l.key, Attempt: attempt, Delay: delay, Err: err, Context: orBackground(call)})
	}
}

// traceHeld tells of a hold that begins. It is called before anybody else can
// see the lock, so that nothing else is told of the hold before.
func (l *Lock) traceHeld() {
	call := l.told
	l.told = nil // a hold does not keep what belongs to the call
	if t := l.c.opts.trace; t != nil && t.Held != nil {
		l.told = t.Held(orBackground(call), HeldInfo{Lock: l, Key: l.key, Token: l.token})
	}
}

// traceReleased tells of a hold that ended at an instant.
func (l *Lock) traceReleased(end HoldEnd, lost *LostError, at drift.Instant) {
	t := l.c.opts.trace
	if t == nil || t.Released == nil {
		return
	}
	l.mu.Lock()
	renewals := l.renewed
	l.mu.Unlock()
	t.Released(ReleasedInfo{
		Lock: l, Key: l.key, Token: l.token, Held: at.Sub(l.acquired),
		Renewals: renewals, End: end, Lost: lost, Context: orBackground(l.told),
	})
}

// traceLost tells trace and log of a loss.
func (l *Lock) traceLost(err *LostError) {
	if err.Reason != ReasonClosed { // which is the caller's own doing
		l.c.opts.logger.Warn("lock lost", "key", l.key, "reason", err.Reason.String(), "error", err)
	}
	if t := l.c.opts.trace; t != nil && t.Lost != nil {
		t.Lost(l, err)
	}
}

// traceExtend tells of a question of the holder's that was decided.
func (l *Lock) traceExtend(ctx context.Context, op operation, began drift.Instant, err error) {
	if t := l.c.opts.trace; t != nil && t.Extend != nil {
		t.Extend(ExtendInfo{
			Lock: l, Op: op.String(), Key: l.key, Elapsed: l.c.opts.clock.Now().Sub(began), Err: err, Context: ctx,
		})
	}
}

// traceRenewal tells of a renewal that was decided at an instant.
func (l *Lock) traceRenewal(r *round, count int, at drift.Instant, err error) {
	if t := l.c.opts.trace; t != nil && t.Renewal != nil {
		t.Renewal(RenewalInfo{
			Lock: l, Key: l.key, Count: count, Elapsed: at.Sub(r.start),
			Remaining: l.holdRemaining(), Err: err, Context: orBackground(l.told),
		})
	}
}

// traceUnlock tells of an Unlock by the handle l on the hold h. ok and need are
// those of the masters that were asked.
func (l *Lock) traceUnlock(ctx context.Context, h *Lock, began drift.Instant, ok, need int, err error) {
	if t := l.c.opts.trace; t != nil && t.Unlock != nil {
		t.Unlock(UnlockInfo{
			Lock: l, Key: l.key, Token: l.token, Held: began.Sub(l.acquired), OK: ok, Need: need,
			Elapsed: l.c.opts.clock.Now().Sub(began), Err: err, Context: ctx, Hold: orBackground(h.told),
		})
	}
}

// traceNodes tells the trace each master's part in what was asked for l.
func (r *round) traceNodes(ctx context.Context, l *Lock) {
	t := r.c.opts.trace
	if t == nil || t.Node == nil {
		return
	}
	if r.infos == nil {
		r.infos = make([]NodeInfo, len(r.answers)) // kept: rounds are used again
	}
	op := r.op.String()
	r.mu.Lock()
	for i := range r.answers {
		r.infos[i] = NodeInfo{
			Op: op, Key: l.key, Token: l.token, Master: r.c.masters[i].Name(),
			Latency: r.answers[i].took, Err: r.reason(i), Context: orBackground(ctx),
		}
	}
	r.mu.Unlock()
	for i := range r.infos {
		t.Node(r.infos[i])
	}
	clear(r.infos)
}

// asking notes when the masters are asked, if a trace is told how long they
// take.
func (r *round) asking() {
	if t := r.c.opts.trace; t != nil && (t.Node != nil || t.Reply != nil) {
		r.asked = time.Now()
	}
}

// sinceAsked is how long ago the masters were asked; 0 where nobody wants to
// know.
func (r *round) sinceAsked() time.Duration { return sinceStart(r.asked) }

// A replyNotice is what a trace is told of a reply once the round's mutex is
// free.
type replyNotice struct {
	tell func(ReplyInfo) // nil: nothing is told
	info ReplyInfo
}

// replyOf is the notice of a call that has come back. The caller must hold
// r.mu; a is the answer that was made of it.
func (r *round) replyOf(c *pipeline.Call, a *answer) (n replyNotice) {
	t := r.c.opts.trace
	if t == nil || t.Reply == nil || errors.Is(c.Err, pipeline.ErrAbandoned) {
		return n
	}
	n.tell = t.Reply
	n.info = ReplyInfo{
		Op: r.op.String(), Master: r.c.masters[c.Slot].Name(), Latency: r.sinceAsked(), Sent: c.Sent,
		Late: a.late || r.expired, Expired: r.expired,
	}
	switch {
	case r.expired:
		n.info.Result, n.info.Err = ReplyFailed, pipeline.ErrTimeout
		if c.Err != nil && !pipeline.IsReply(c.Err) {
			n.info.Err = c.Err
		}
	case a.verdict == agreed:
		n.info.Result = ReplyAgreed
	case a.verdict == refused:
		n.info.Result = ReplyRefused
	default:
		n.info.Result, n.info.Err = ReplyFailed, a.err
	}
	return n
}

func (n *replyNotice) send() {
	if n.tell != nil {
		n.tell(n.info)
	}
}

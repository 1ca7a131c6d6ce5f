package redlock

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/ballot"
	"github.com/redquorum/redquorum/internal/hold"
	"github.com/redquorum/redquorum/internal/outcome"
	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/wire"
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
func (c *Client) traceBegin(ctx context.Context, op wire.Op, l *Lock, once bool) context.Context {
	t := c.opts.trace
	if t == nil {
		return nil
	}
	if t.Begin == nil {
		return ctx
	}
	info := BeginInfo{Op: op.String(), Key: l.Key(), Once: once}
	if len(l.handle.Hold().Others()) > 0 {
		info.Keys = l.Keys()
	}
	if made := t.Begin(ctx, info); made != nil {
		return made
	}
	return ctx
}

// traceWait tells that a call has ended. l is nil with an error, and template
// what the call was for.
func (c *Client) traceWait(ctx context.Context, op wire.Op, template, l *Lock, attempts int, waited time.Duration, err error) {
	t := c.opts.trace
	if t == nil || t.Wait == nil {
		return
	}
	key, _ := template.handle.Hold().Wanted() // as traceBegin has named it, whichever of several was got
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
func (c *Client) traceAttempt(call context.Context, l *Lock, attempt int, err *outcome.Failure) {
	if t := c.opts.trace; t != nil && t.Attempt != nil {
		info := AttemptInfo{Key: l.Key(), Token: l.Token(), Attempt: attempt, OK: l.handle.Hold().Agreed(), Need: c.group.Need, Context: orBackground(call)}
		if err != nil {
			info.Key, info.OK, info.Elapsed, info.Err = err.Key, err.OK, err.Elapsed, c.quorumError(err)
		} else {
			info.Elapsed = c.opts.clock.Now().Sub(l.handle.Hold().Acquired())
		}
		t.Attempt(info)
	}
	c.logAttempt(l, attempt, err)
}

// traceRetry tells of a pause after the attempt that ended with err.
func (l *Lock) traceRetry(call context.Context, attempt int, delay time.Duration, err *outcome.Failure) {
	if t := l.c.opts.trace; t != nil && t.Retry != nil {
		key, _ := l.handle.Hold().Wanted()
		t.Retry(RetryInfo{Key: key, Attempt: attempt, Delay: delay, Err: l.c.quorumError(err), Context: orBackground(call)})
	}
}

// traceHeld tells of a hold that begins. It is called before anybody else can
// see the lock, so that nothing else is told of the hold before.
func (l *Lock) traceHeld() {
	call := l.told
	l.told = nil // a hold does not keep what belongs to the call
	if t := l.c.opts.trace; t != nil && t.Held != nil {
		l.told = t.Held(orBackground(call), HeldInfo{Lock: l, Key: l.Key(), Token: l.Token()})
	}
}

// traceReleased tells of a hold that ended.
func (l *Lock) traceReleased(end *hold.End, how HoldEnd, lost *LostError) {
	t := l.c.opts.trace
	if t == nil || t.Released == nil {
		return
	}
	t.Released(ReleasedInfo{
		Lock: l, Key: l.Key(), Token: l.Token(), Held: end.At.Sub(l.handle.Hold().Acquired()),
		Renewals: end.Renewals, End: how, Lost: lost, Context: orBackground(l.told),
	})
}

// traceLost tells trace and log of a loss.
func (l *Lock) traceLost(err *LostError) {
	switch log := l.c.opts.logger; {
	case err.Planned:
		log.Info("lock expired as planned", "key", l.Key())
	case err.Reason != ReasonClosed: // which is the caller's own doing
		log.Warn("lock lost", "key", l.Key(), "reason", err.Reason.String(), "error", err)
	}
	if t := l.c.opts.trace; t != nil && t.Lost != nil {
		t.Lost(l, err)
	}
}

// traceExtend tells of a question of the holder's that was decided.
func (l *Lock) traceExtend(ctx context.Context, op wire.Op, began drift.Instant, err error) {
	if t := l.c.opts.trace; t != nil && t.Extend != nil {
		t.Extend(ExtendInfo{
			Lock: l, Op: op.String(), Key: l.Key(), Elapsed: l.c.opts.clock.Now().Sub(began), Err: err, Context: ctx,
		})
	}
}

// traceRenewal tells of a renewal that was decided.
func (l *Lock) traceRenewal(r *hold.Renewed, err error) {
	if t := l.c.opts.trace; t != nil && t.Renewal != nil {
		t.Renewal(RenewalInfo{
			Lock: l, Key: l.Key(), Count: r.Count, Elapsed: r.At.Sub(r.Ask.Start),
			Remaining: l.handle.Hold().Remaining(), Err: err, Context: orBackground(l.told),
		})
	}
}

// traceUnlock tells of an Unlock by the handle l.
func (l *Lock) traceUnlock(ctx context.Context, began drift.Instant, r *hold.Release, err error) {
	if t := l.c.opts.trace; t != nil && t.Unlock != nil {
		t.Unlock(UnlockInfo{
			Lock: l, Key: l.Key(), Token: l.Token(), Held: l.handle.Since(began), OK: r.OK, Need: r.Need,
			Elapsed: l.c.opts.clock.Now().Sub(began), Err: err, Context: ctx, Hold: orBackground(l.handle.Hold().Owner().(*owner).told),
		})
	}
}

// traceNodes tells the trace each master's part in what was asked for l.
func (c *Client) traceNodes(ctx context.Context, r *wire.Ask, l *Lock) {
	t := c.opts.trace
	if t == nil || t.Node == nil {
		return
	}
	infos, _ := c.nodeInfos.Get().(*[]NodeInfo)
	if infos == nil {
		all := make([]NodeInfo, len(c.group.Masters))
		infos = &all
	}
	op := r.Op().String()
	for i, part := range r.Parts(make([]wire.Part, 0, 16)) { // on the stack
		(*infos)[i] = NodeInfo{
			Op: op, Key: l.Key(), Token: l.Token(), Master: c.group.Masters[i].Name(),
			Latency: part.Took, Err: c.publicPart(part.Part), Context: orBackground(ctx),
		}
	}
	for i := range *infos {
		t.Node((*infos)[i])
	}
	clear(*infos)
	c.nodeInfos.Put(infos)
}

// timed reports whether answers are to be timed for it.
func (t *Trace) timed() bool { return t != nil && (t.Node != nil || t.Reply != nil) }

// replied is what tells the trace of replies; nil where nobody listens.
func (c *Client) replied() func(b *ballot.Ballot, reply ballot.Reply) {
	t := c.opts.trace
	if t == nil || t.Reply == nil {
		return nil
	}
	return func(b *ballot.Ballot, reply ballot.Reply) {
		if errors.Is(reply.Call.Err, pipeline.ErrAbandoned) {
			return
		}
		r := b.Question().(*wire.Ask)
		a := &reply.Answer
		info := ReplyInfo{
			Op: r.Op().String(), Master: c.group.Masters[reply.Master].Name(), Latency: r.SinceAsked(), Sent: reply.Call.Sent,
			Late: a.Late || reply.Expired, Expired: reply.Expired,
		}
		switch {
		case reply.Expired:
			info.Result, info.Err = ReplyFailed, pipeline.ErrTimeout
			if err := reply.Call.Err; err != nil && !pipeline.IsReply(err) {
				info.Err = err
			}
		case a.Verdict == ballot.Agreed:
			info.Result = ReplyAgreed
		case a.Verdict == ballot.Refused:
			info.Result = ReplyRefused
		default:
			info.Result, info.Err = ReplyFailed, publicCause(a.Err)
		}
		t.Reply(info)
	}
}

// logAttempt logs an attempt. It asks first whether anybody reads that: to hand
// over the fields costs allocations.
func (c *Client) logAttempt(l *Lock, attempt int, err *outcome.Failure) {
	log := c.opts.logger
	if !log.Enabled(context.Background(), slog.LevelDebug) {
		return
	}
	if err != nil {
		log.Debug("attempt failed", "key", err.Key, "attempt", attempt, "error", c.quorumError(err))
		return
	}
	log.Debug("lock acquired", "key", l.Key(), "attempt", attempt, "agreed", l.handle.Hold().Agreed())
}

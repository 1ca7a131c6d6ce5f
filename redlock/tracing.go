package redlock

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/hold"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/wire"
)

// This file reports to the Trace and to the log. Only traceRenewal may be called under a mutex: it
// makes the report and sends nothing.

// A tracer reports a client's calls, their attempts and each master's part in them.
type tracer struct {
	trace     *Trace // nil: none
	logger    *slog.Logger
	clock     drift.Clock
	errs      *publicErrors
	nodeInfos sync.Pool // of *[]NodeInfo
}

// background avoids converting context.Background() on each event.
var background = context.Background()

// orBackground returns ctx, or the background context: a trace never gets nil.
func orBackground(ctx context.Context) context.Context {
	if ctx == nil {
		return background
	}
	return ctx
}

// begin reports that a call begins, and returns the Context of the call's later events; nil
// without a trace. oneOf has the keys of which one is wanted; nil: the keys of l.
func (tr *tracer) begin(ctx context.Context, op wire.Op, l *Lock, oneOf []string, once bool) context.Context {
	t := tr.trace
	if t == nil {
		return nil
	}
	if t.Begin == nil {
		return ctx
	}
	info := BeginInfo{Op: op.String(), Key: l.Key(), Keys: slices.Clone(oneOf), Once: once}
	if len(l.handle.Hold().Others()) > 0 {
		info.Keys = l.Keys()
	}
	if made := t.Begin(ctx, info); made != nil {
		return made
	}
	return ctx
}

// wait reports that a call has ended. l is nil with an error. key is the one in Begin,
// whichever of several keys was acquired.
func (tr *tracer) wait(
	ctx context.Context, op wire.Op, key string, l *Lock, attempts int, waited time.Duration, err error,
) {
	t := tr.trace
	if t == nil || t.Wait == nil {
		return
	}
	t.Wait(WaitInfo{
		Op:       op.String(),
		Key:      key,
		Attempts: attempts,
		Waited:   waited,
		Lock:     l,
		Err:      err,
		Context:  orBackground(ctx),
	})
}

// stopwatch reads the clock if there is a trace to report the duration of a call to.
func (tr *tracer) stopwatch() time.Time {
	if tr.trace == nil {
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

// attempt reports a decided attempt to trace and log.
func (tr *tracer) attempt(call context.Context, l *Lock, attempt int, err *quorum.Failure) {
	if t := tr.trace; t != nil && t.Attempt != nil {
		info := AttemptInfo{
			Key:     l.Key(),
			Token:   l.Token(),
			Attempt: attempt,
			OK:      l.handle.Hold().Agreed(),
			Need:    tr.errs.group.Need,
			Context: orBackground(call),
		}
		if err != nil {
			info.Key, info.OK, info.Elapsed, info.Err = err.Key, err.OK, err.Elapsed, tr.errs.quorumError(err)
		} else {
			info.Elapsed = tr.clock.Now().Sub(l.handle.Hold().Acquired())
		}
		t.Attempt(info)
	}
	tr.logAttempt(l, attempt, err)
}

// traceRetry reports a pause after the attempt that ended with err.
func (l *Lock) traceRetry(call context.Context, attempt int, delay time.Duration, err *quorum.Failure) {
	if t := l.c.tracer.trace; t != nil && t.Retry != nil {
		t.Retry(AttemptInfo{
			Key: err.Key, Token: l.Token(), Attempt: attempt, OK: err.OK, Need: err.Need, Elapsed: err.Elapsed,
			Delay: delay, Err: l.c.errs.quorumError(err), Context: orBackground(call),
		})
	}
}

// traceHeld reports that a hold begins. The other events of the hold come after that, except those
// that the calls of its holder report themselves.
func (l *Lock) traceHeld() {
	call := l.traceCtx
	l.traceCtx = nil // a hold does not keep what belongs to the call
	if t := l.c.tracer.trace; t != nil && t.Held != nil {
		l.traceCtx = t.Held(orBackground(call), l)
	}
}

func (l *Lock) traceReleased(end *hold.End, lost *LostError) {
	t := l.c.tracer.trace
	if t == nil || t.Released == nil {
		return
	}
	t.Released(ReleasedInfo{
		Lock:       l,
		Key:        l.Key(),
		Token:      l.Token(),
		Held:       end.At.Sub(l.handle.Hold().Acquired()),
		Renewals:   end.Renewals,
		HandedOver: end.HandedOver,
		Lost:       lost,
		At:         end.At.Wall(),
		Context:    orBackground(l.traceCtx),
	})
}

// traceLost reports a loss to trace and log.
func (l *Lock) traceLost(at time.Time, err *LostError) {
	switch d := l.c.group.Deliverer; {
	case err.Planned:
		d.Line(at, slog.LevelInfo, "lock expired as planned", "key", l.Key())
	case err.Reason != ReasonClosed: // otherwise the caller itself has closed the client
		d.Line(at, slog.LevelWarn, "lock lost", "key", l.Key(), "reason", string(err.Reason), "error", err)
	}
	if t := l.c.tracer.trace; t != nil && t.Lost != nil {
		t.Lost(l, err)
	}
}

func (l *Lock) traceExtend(ctx context.Context, op wire.Op, began drift.Instant, err error) {
	if t := l.c.tracer.trace; t != nil && t.Extend != nil {
		now := l.c.opts.clock.Now()
		t.Extend(ExtendInfo{
			Lock:      l,
			Op:        op.String(),
			Key:       l.Key(),
			Elapsed:   now.Sub(began),
			Remaining: l.Remaining(),
			Err:       err,
			At:        now.Wall(),
			Context:   ctx,
		})
	}
}

// traceRenewal returns the function that reports a decided renewal to trace and log; nil: there is
// nothing to report.
func (l *Lock) traceRenewal(r *hold.Renewed) func() {
	t := l.c.tracer.trace
	err := l.problemError(wire.OpExtend.String(), r.Problem)
	if err == nil && (t == nil || t.Renewal == nil && t.Node == nil) {
		return nil
	}
	at, level := r.At.Wall(), slog.LevelDebug // an outage causes thousands of them
	nodes := l.c.tracer.nodes(at, r.Ask, l, nil)
	if r.FirstFailure {
		level = slog.LevelWarn
	}
	info := ExtendInfo{
		Lock: l, Op: wire.OpExtend.String(), Key: l.Key(), Count: r.Count, Elapsed: r.At.Sub(r.Ask.Start),
		Remaining: r.Remaining, Err: err, At: at,
	}
	return func() {
		info.Context = orBackground(l.traceCtx)
		l.c.tracer.reportNodes(info.Context, nodes)
		if err != nil {
			l.c.group.Deliverer.Line(at, level, "renewal failed", "key", l.Key(), "error", err)
		}
		if t != nil && t.Renewal != nil {
			t.Renewal(info)
		}
	}
}

func (l *Lock) traceUnlock(ctx context.Context, began drift.Instant, r *hold.Release, err error) {
	if t := l.c.tracer.trace; t != nil && t.Unlock != nil {
		h := l.handle.Hold()
		var holdCtx context.Context
		if h.HeldReturned() { // otherwise Held is still making it
			holdCtx = h.Owner().(*owner).traceCtx
		}
		t.Unlock(UnlockInfo{
			Lock: l, Key: l.Key(), Token: l.Token(), Held: l.handle.Since(began), OK: r.OK, Need: r.Need,
			Elapsed: l.c.opts.clock.Now().Sub(began), Err: err, Context: ctx, Hold: orBackground(holdCtx),
		})
	}
}

// parts reports each master's part in what was asked for l.
func (tr *tracer) parts(ctx context.Context, r *wire.Ask, l *Lock) {
	if t := tr.trace; t == nil || t.Node == nil {
		return
	}
	infos, _ := tr.nodeInfos.Get().(*[]NodeInfo)
	if infos == nil {
		infos = &[]NodeInfo{}
	}
	*infos = tr.nodes(time.Now(), r, l, *infos)
	tr.reportNodes(orBackground(ctx), *infos)
	clear(*infos)
	*infos = (*infos)[:0]
	tr.nodeInfos.Put(infos)
}

// nodes appends each master's part in what was asked for l, if the trace has Node.
func (tr *tracer) nodes(at time.Time, r *wire.Ask, l *Lock, infos []NodeInfo) []NodeInfo {
	if t := tr.trace; t == nil || t.Node == nil {
		return infos
	}
	op := r.Op().String()
	for i, part := range r.Parts(make([]wire.Part, 0, 16)) { // on the stack
		infos = append(infos, NodeInfo{
			Op: op, Key: l.Key(), Token: l.Token(), Master: tr.errs.group.Masters[i].Name(), Latency: part.Took,
			Refused: part.Refused, Err: tr.errs.publicPart(part.Part), At: at,
		})
	}
	return infos
}

func (tr *tracer) reportNodes(ctx context.Context, infos []NodeInfo) {
	for i := range infos {
		infos[i].Context = ctx
		tr.trace.Node(infos[i])
	}
}

// clockChanged returns what the deliverer calls when a master's clock changes; nil: nothing.
func (t *Trace) clockChanged() func(master string, d *drift.Deviation, at time.Time) {
	if t == nil {
		return nil
	}
	return t.Clock
}

// timed reports whether the trace needs the latency of answers.
func (t *Trace) timed() bool { return t != nil && t.Node != nil }

// logAttempt logs an attempt. It checks first whether the line is wanted: passing the fields costs
// allocations.
func (tr *tracer) logAttempt(l *Lock, attempt int, err *quorum.Failure) {
	log := tr.logger
	if !log.Enabled(context.Background(), slog.LevelDebug) {
		return
	}
	if err != nil {
		log.Debug("attempt failed", "key", err.Key, "attempt", attempt, "error", tr.errs.quorumError(err))
		return
	}
	log.Debug("lock acquired", "key", l.Key(), "attempt", attempt, "agreed", l.handle.Hold().Agreed())
}

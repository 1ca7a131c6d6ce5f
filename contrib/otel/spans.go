package redlockotel

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/redquorum/redquorum/redlock"
)

// A call is a call that acquires. One goroutine reports all its events.
type call struct {
	outer  context.Context // the caller's
	span   trace.Span
	paused time.Time          // start of the current pause; zero: there is none
	nodes  []redlock.NodeInfo // of the current attempt
}

type callKey struct{}

func callOf(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	return c
}

func (t *Telemetry) spans() *redlock.Trace {
	return &redlock.Trace{
		Begin:    t.begin,
		Attempt:  t.attempt,
		Node:     t.node,
		Retry:    t.retry,
		Wait:     t.wait,
		Held:     t.held,
		Renewal:  t.renewal,
		Extend:   t.extend,
		Released: t.released,
		Unlock:   t.unlock,
	}
}

func (t *Telemetry) begin(ctx context.Context, i redlock.BeginInfo) context.Context {
	inner, span := t.tracer.Start(ctx, "redlock.acquire", trace.WithAttributes(
		keyKey.String(t.keyName(i.Key)), keyOp.String(i.Op), keyOnce.Bool(i.Once)))
	if len(i.Keys) > 0 {
		names := make([]string, len(i.Keys))
		for n, key := range i.Keys {
			names[n] = t.keyName(key)
		}
		span.SetAttributes(keyKeys.StringSlice(names))
	}
	return context.WithValue(inner, callKey{}, &call{outer: ctx, span: span})
}

// node keeps the masters' answers until the attempt is reported.
func (t *Telemetry) node(i redlock.NodeInfo) {
	if c := callOf(i.Context); c != nil && i.Op == "lock" && c.span.IsRecording() {
		c.nodes = append(c.nodes, i)
	}
}

func (t *Telemetry) attempt(i redlock.AttemptInfo) {
	c := callOf(i.Context)
	if c == nil {
		return
	}
	now := time.Now()
	began := now.Add(-i.Elapsed)
	t.endPause(i.Context, c, began)
	_, span := t.tracer.Start(i.Context, "redlock.attempt",
		trace.WithTimestamp(began), trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(keyAttempt.Int(i.Attempt), keyAgreed.Int(i.OK), keyNeeded.Int(i.Need),
			keyResult.String(acquireResult(i.Err))))
	for n := range c.nodes {
		span.AddEvent("redlock.master", trace.WithTimestamp(now), trace.WithAttributes(nodeAttributes(&c.nodes[n])...))
	}
	c.nodes = c.nodes[:0]
	setHolder(span, i.Err)
	setStatus(span, i.Err)
	span.End(trace.WithTimestamp(now))
}

func nodeAttributes(i *redlock.NodeInfo) []attribute.KeyValue {
	attrs := []attribute.KeyValue{keyMaster.String(i.Master)}
	if i.Latency > 0 {
		attrs = append(attrs, keyLatency.Float64(i.Latency.Seconds()))
	}
	if held, ok := errors.AsType[*redlock.Holder](i.Err); ok {
		return append(attrs, keyError.String(describe(held)))
	}
	if i.Err != nil {
		attrs = append(attrs, keyError.String(i.Err.Error()))
	}
	return attrs
}

// setHolder sets the name of the owner that holds the lock, if it has a name.
func setHolder(span trace.Span, err error) {
	q, ok := errors.AsType[*redlock.QuorumError](err)
	if !ok || q.Nodes == nil {
		return
	}
	for _, cause := range q.Nodes.Errors {
		if held, ok := errors.AsType[*redlock.Holder](cause); ok && held.Owner != "" {
			span.SetAttributes(keyHolder.String(held.Owner))
			return
		}
	}
}

// describe says who holds a key, without the token.
func describe(held *redlock.Holder) string {
	public := *held
	public.Token = ""
	return public.Error()
}

func (t *Telemetry) retry(i redlock.AttemptInfo) {
	if c := callOf(i.Context); c != nil && c.paused.IsZero() {
		c.paused = time.Now()
	}
}

// endPause makes the span of the pause that ended then, if there was one.
func (t *Telemetry) endPause(ctx context.Context, c *call, then time.Time) {
	if c.paused.IsZero() {
		return
	}
	if then.Before(c.paused) {
		then = c.paused
	}
	_, span := t.tracer.Start(ctx, "redlock.wait", trace.WithTimestamp(c.paused))
	span.End(trace.WithTimestamp(then))
	c.paused = time.Time{}
}

func (t *Telemetry) wait(i redlock.WaitInfo) {
	c := callOf(i.Context)
	if c == nil {
		return
	}
	t.endPause(i.Context, c, time.Now())
	if i.Lock != nil { // with several keys it may be any of them
		c.span.SetAttributes(keyKey.String(t.keyName(i.Lock.Key())))
	}
	c.span.SetAttributes(keyAttempts.Int(i.Attempts), keyResult.String(acquireResult(i.Err)))
	setHolder(c.span, i.Err)
	setStatus(c.span, i.Err)
	c.span.End()
}

type holdKey struct{}

// held starts the span of the hold, below the caller's span. The context that it
// returns keeps the span, but not the caller's context.
func (t *Telemetry) held(ctx context.Context, l *redlock.Lock) context.Context {
	outer := ctx
	var links []trace.Link
	if c := callOf(ctx); c != nil {
		outer = c.outer
		links = append(links, trace.Link{SpanContext: c.span.SpanContext()})
	}
	_, span := t.tracer.Start(outer, "redlock.hold",
		trace.WithLinks(links...), trace.WithAttributes(keyKey.String(t.keyName(l.Key()))))
	return trace.ContextWithSpan(context.WithValue(context.Background(), holdKey{}, true), span)
}

// holdSpan is the span that held made; nil if the context is not from there.
func holdSpan(ctx context.Context) trace.Span {
	if ctx.Value(holdKey{}) == nil {
		return nil
	}
	return trace.SpanFromContext(ctx)
}

// renewal adds an event for a failed renewal. There may be too many successful ones.
func (t *Telemetry) renewal(i redlock.ExtendInfo) {
	if span := holdSpan(i.Context); span != nil && i.Err != nil {
		span.AddEvent("redlock.renewal_failed", trace.WithTimestamp(i.At), trace.WithAttributes(
			keyError.String(errorText(i.Err)), keyRemaining.Float64(i.Remaining.Seconds())))
	}
}

func (t *Telemetry) released(i redlock.ReleasedInfo) {
	span := holdSpan(i.Context)
	if span == nil {
		return
	}
	end := holdEnd(&i)
	span.SetAttributes(keyEnd.String(end), keyRenewals.Int(i.Renewals))
	if i.Lost != nil {
		span.SetAttributes(keyReason.String(string(i.Lost.Reason)))
	}
	if end == endLost {
		span.SetStatus(codes.Error, "lost: "+string(i.Lost.Reason))
	}
	span.End(trace.WithTimestamp(i.At))
}

func (t *Telemetry) extend(i redlock.ExtendInfo) {
	span := t.question(i.Context, i.Lock.Key(), "redlock."+i.Op, i.Elapsed, nil, keyResult.String(renewalResult(i.Err)))
	setStatus(span, i.Err)
	span.End()
}

func (t *Telemetry) unlock(i redlock.UnlockInfo) {
	span := t.question(i.Context, i.Key, "redlock.unlock", i.Elapsed, holdSpan(i.Hold),
		keyResult.String(unlockResult(i.Err)), keyAgreed.Int(i.OK), keyNeeded.Int(i.Need))
	if !errors.Is(i.Err, redlock.ErrNotHeld) { // the hold's span says how the hold ended
		setStatus(span, i.Err)
	}
	span.End()
}

// question starts the span of an operation that has just been decided.
func (t *Telemetry) question(
	ctx context.Context, key, name string, took time.Duration, hold trace.Span, attrs ...attribute.KeyValue,
) trace.Span {
	opts := []trace.SpanStartOption{
		trace.WithTimestamp(time.Now().Add(-took)), trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(append(attrs, keyKey.String(t.keyName(key)))...),
	}
	if hold != nil {
		opts = append(opts, trace.WithLinks(trace.Link{SpanContext: hold.SpanContext()}))
	}
	_, span := t.tracer.Start(ctx, name, opts...)
	return span
}

// setStatus marks a span as failed. A lock that is taken is no failure of the call:
// the attribute for the result says it.
func setStatus(span trace.Span, err error) {
	if err == nil || errors.Is(err, redlock.ErrTaken) {
		return
	}
	span.SetStatus(codes.Error, errorText(err))
}

// errorText says in a few words what went wrong. The whole text may contain the tokens
// of others.
func errorText(err error) string {
	q, ok := errors.AsType[*redlock.QuorumError](err)
	if !ok {
		return acquireResult(err)
	}
	text := q.Op + ": " + acquireResult(err)
	if lost, ok := errors.AsType[*redlock.LostError](err); ok {
		text = "lost: " + string(lost.Reason)
	}
	return text
}

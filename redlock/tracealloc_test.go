package redlock

import (
	"context"
	"testing"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/ballot"
	"github.com/redquorum/redquorum/internal/hold"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/wire"
	"github.com/redquorum/redquorum/pool"
)

// silentTrace has every function, and none of them does anything.
func silentTrace() *Trace {
	return &Trace{
		Begin:    func(ctx context.Context, _ BeginInfo) context.Context { return ctx },
		Attempt:  func(AttemptInfo) {},
		Node:     func(NodeInfo) {},
		Retry:    func(AttemptInfo) {},
		Wait:     func(WaitInfo) {},
		Held:     func(ctx context.Context, _ *Lock) context.Context { return ctx },
		Renewal:  func(ExtendInfo) {},
		Extend:   func(ExtendInfo) {},
		Lost:     func(*Lock, *LostError) {},
		Released: func(ReleasedInfo) {},
		Unlock:   func(UnlockInfo) {},
	}
}

// unreachableClient is a client of three masters that nobody can reach, closed at the end of the
// test.
func unreachableClient(t *testing.T, trace *Trace) *Client {
	t.Helper()
	o := defaultOptions()
	o.trace = trace
	p, err := pool.New([]string{"unix:///nowhere/1", "unix:///nowhere/2", "unix:///nowhere/3"}, pool.WithBackoff(time.Minute, time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	c, err := newClient(p, true, &o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// Reporting a lock and its release costs no allocation, with no trace, an empty one or a full one.
// Reporting a failure costs only the public error, and only with a trace.
func TestATraceDoesNotAllocate(t *testing.T) {
	for name, test := range map[string]struct {
		trace  *Trace
		errors float64 // public errors that are made of the failure
	}{
		"none":   {nil, 0},
		"empty":  {&Trace{}, 0},
		"silent": {silentTrace(), 2},
		"joined": {JoinTraces(silentTrace(), silentTrace()), 2},
	} {
		t.Run(name, func(t *testing.T) {
			c := unreachableClient(t, test.trace)
			l, err := c.newLock(t.Context(), wire.OpLock, "key", nil)
			if err != nil {
				t.Fatal(err)
			}
			var now drift.Instant
			failure := &quorum.Failure{Kind: quorum.Taken}
			lost := &LostError{Reason: ReasonClosed} // it is not logged
			r := c.wire.Inspect(l.own.Claim(), now)
			defer r.Done()
			if err := r.Wait(t.Context(), time.Second); err != nil {
				t.Fatal(err)
			}
			ctx := t.Context()
			reportAll := func() {
				began := c.tracer.stopwatch()
				call := c.tracer.begin(ctx, wire.OpLock, l, nil, false)
				for i := range r.Answers() {
					r.Lock()
					r.Answers()[i] = ballot.Answer{Verdict: ballot.Agreed, Took: time.Millisecond}
					r.Unlock()
				}
				c.tracer.parts(call, r, l)
				l.traceCtx = call
				l.traceHeld()
				c.tracer.attempt(call, l, 2, nil)
				c.tracer.wait(call, wire.OpLock, l.Key(), l, 1, sinceStart(began), nil)
				l.traceExtend(ctx, wire.OpExtend, now, nil)
				l.traceLost(time.Now(), lost)
				l.traceReleased(&hold.End{}, nil)
				l.traceUnlock(ctx, now, &hold.Release{OK: 3, Need: 2}, nil)
			}
			wantAllocations(t, 0, reportAll)
			if report := l.traceRenewal(&hold.Renewed{Ask: r, Count: 1}); (report != nil) != (test.errors > 0) {
				t.Error("a renewal is queued where nobody listens, or is not where somebody does")
			}
			var public *QuorumError
			anError := testing.AllocsPerRun(100, func() { public = c.errs.quorumError(failure) })
			if public.kind != ErrTaken { //nolint:errorlint // this very value
				t.Errorf("the public error is %v", public)
			}
			wantAllocations(t, test.errors*anError, func() {
				l.traceRetry(ctx, 1, time.Second, failure)
				c.tracer.attempt(ctx, l, 1, failure)
			})
		})
	}
}

// wantAllocations fails if f needs more allocations. Those of the pool's goroutines are counted
// too, so it takes the least of some runs.
func wantAllocations(t *testing.T, want float64, f func()) {
	t.Helper()
	least := testing.AllocsPerRun(100, f)
	for range 9 {
		if least > want {
			least = min(least, testing.AllocsPerRun(100, f))
		}
	}
	if least > want {
		t.Errorf("%v allocations, want %v", least, want)
	}
}

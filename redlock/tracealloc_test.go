package redlock

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/pool"
)

// silentTrace has every function, and none does anything.
func silentTrace() *Trace {
	return &Trace{
		Begin:    func(ctx context.Context, _ BeginInfo) context.Context { return ctx },
		Attempt:  func(AttemptInfo) {},
		Node:     func(NodeInfo) {},
		Reply:    func(ReplyInfo) {},
		Retry:    func(RetryInfo) {},
		Wait:     func(WaitInfo) {},
		Held:     func(ctx context.Context, _ HeldInfo) context.Context { return ctx },
		Renewal:  func(RenewalInfo) {},
		Extend:   func(ExtendInfo) {},
		Lost:     func(*Lock, *LostError) {},
		Released: func(ReleasedInfo) {},
		Unlock:   func(UnlockInfo) {},
	}
}

// What is told of a lock and its release costs no allocation, whether nobody
// listens, to nothing, or to everything.
func TestATraceDoesNotAllocate(t *testing.T) {
	for name, trace := range map[string]*Trace{"none": nil, "empty": {}, "silent": silentTrace(), "joined": JoinTraces(silentTrace(), silentTrace())} {
		t.Run(name, func(t *testing.T) {
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
			defer c.Close()
			l := &Lock{c: c, key: "key", token: "token", kind: plainKind, opts: o.lock, index: notScheduled}
			failure := &QuorumError{kind: ErrTaken}
			lost := &LostError{Reason: ReasonClosed} // which is not logged
			reply := pipeline.Call{Err: errors.New("refused")}
			r := c.newRound(opLock)
			ctx := t.Context()
			told := func() {
				began := c.stopwatch()
				call := c.traceBegin(ctx, opLock, l, false)
				r.asking()
				for i := range r.answers {
					r.answers[i] = answer{verdict: agreed, took: r.sinceAsked()}
					notice := r.replyOf(&reply, &r.answers[i])
					notice.send()
				}
				r.traceNodes(call, l)
				l.told = call
				l.traceRetry(call, 1, time.Second, failure)
				l.traceHeld()
				c.traceAttempt(call, l, 1, failure)
				c.traceAttempt(call, l, 2, nil)
				c.traceWait(call, opLock, l, l, 1, sinceStart(began), nil)
				l.traceExtend(ctx, opExtend, l.start, nil)
				l.traceRenewal(r, 1, l.start, nil)
				l.traceLost(lost)
				l.traceReleased(EndUnlocked, nil, l.start)
				l.traceUnlock(ctx, l, l.start, 3, 2, nil)
			}
			// What the pool's goroutines allocate meanwhile is counted too.
			least := testing.AllocsPerRun(100, told)
			for range 9 {
				if least > 0 {
					least = min(least, testing.AllocsPerRun(100, told))
				}
			}
			if least != 0 {
				t.Errorf("%v allocations", least)
			}
		})
	}
}

package redlock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redquorum/redquorum/internal/hold"
	"github.com/redquorum/redquorum/internal/outcome"
	"github.com/redquorum/redquorum/internal/pilot"
	"github.com/redquorum/redquorum/internal/waitqueue"
	"github.com/redquorum/redquorum/internal/wire"
)

// A call is a Lock call under way. It makes the attempts for those who wait
// (waitqueue.Caller), each with a hold of its own. It belongs to the goroutine of the
// call.
type call struct {
	c        *Client
	l        *Lock           // what is acquired
	trace    context.Context // of the call
	used     bool            // an attempt was made with the handle's hold
	granted  hold.Attempt    // by a pilot; Others goes on with it
	attempts int
}

// newCall is from the client's pool.
func (c *Client) newCall(l *Lock) *call {
	t, _ := c.calls.Get().(*call)
	if t == nil {
		t = &call{}
	}
	*t = call{c: c, l: l, trace: l.told}
	return t
}

// end returns what the call has come to, and gives it back to the pool.
func (t *call) end(failed *outcome.Failure) (l *Lock, attempts int, err error) {
	c := t.c
	l, attempts = t.l, t.attempts
	*t = call{}
	c.calls.Put(t)
	if failed == nil {
		return l, attempts, nil
	}
	return nil, attempts, c.failureError(failed)
}

// failureError is the public error of a call that has failed.
func (c *Client) failureError(f *outcome.Failure) error {
	if errors.Is(f.Cause, ErrClosed) {
		return fmt.Errorf("redlock: %s %q: %w", f.Op, f.Key, ErrClosed)
	}
	return c.quorumError(f) // each caller's error is its own
}

// want is what the waiting is told of a call.
func (l *Lock) want(tries int) waitqueue.Want {
	claim := l.own.Claim()
	return waitqueue.Want{
		Keys: claim.Keys, Kind: claim.Kind, Fair: l.opts.fair,
		Limit: l.c.holds.Timeout(claim.TTL), Tries: tries, Backoff: l.opts.backoff,
	}
}

// fresh makes the handle one with which no attempt was made.
func (t *call) fresh() *hold.Handle {
	if t.used {
		t.l.handle.Again()
		t.used = false
	}
	return &t.l.handle
}

// next is the handle for the next attempt.
func (t *call) next() *hold.Handle {
	h := t.fresh()
	t.used = true
	return h
}

// nextAt is next for an attempt at a key's pilot: of one of several keys at that one alone.
func (t *call) nextAt(key string) *hold.Handle {
	if !t.l.handle.Hold().WantsOneOf() {
		return t.next()
	}
	t.l.handle.AgainWith(key)
	t.used = true
	return &t.l.handle
}

// failed has readers kept out where a writer's attempt has failed.
func (t *call) failed(f *outcome.Failure) *outcome.Failure {
	if f != nil {
		t.l.intent.note()
	}
	return f
}

// All implements waitqueue.Caller.
func (t *call) All(ctx context.Context, holders bool) *outcome.Failure {
	return t.failed(t.next().Acquire(ctx, holders))
}

// Pilot implements waitqueue.Caller.
func (t *call) Pilot(ctx context.Context, pilot int, key string, at wire.Place) (granted bool, turn wire.Turn, err error) {
	limit := t.c.wire.Patience(pilot, t.c.holds.Timeout(t.l.opts.ttl))
	t.granted, granted, turn, err = t.nextAt(key).AskPilot(ctx, pilot, at, limit)
	if !granted && err == nil {
		t.l.intent.note()
	}
	return granted, turn, err
}

// Others implements waitqueue.Caller.
func (t *call) Others(ctx context.Context, holders bool) *outcome.Failure {
	return t.ofOne(t.granted.AskOthers(ctx, holders))
}

// ofOne is the failure of an attempt that may have been at one of several keys alone.
func (t *call) ofOne(f *outcome.Failure) *outcome.Failure {
	if t.failed(f) != nil {
		f.Key, f.Others = t.l.handle.Hold().Wanted()
	}
	return f
}

// Together implements waitqueue.Caller.
func (t *call) Together(ctx context.Context, pilot int, key string, at wire.Place) (wire.PilotAnswer, *outcome.Failure) {
	said, f := t.nextAt(key).AcquireWith(ctx, pilot, at)
	return said, t.ofOne(f)
}

// Called implements waitqueue.Caller.
func (t *call) Called(ctx context.Context) *outcome.Failure { return t.next().AcquireCalled(ctx) }

// Taken implements waitqueue.Caller.
func (t *call) Taken(master int, held *outcome.Held) *outcome.Failure {
	if master == pilot.None {
		t.fresh()
	}
	h := t.l.handle.Hold()
	e := &outcome.Failure{Op: wire.OpLock.String(), Need: t.c.group.Need, Total: len(t.c.group.Masters), Kind: outcome.Taken}
	e.Key, e.Others = h.Wanted()
	if t.used {
		e.Elapsed = t.c.opts.clock.Now().Sub(h.Start())
	}
	if held != nil {
		e.Parts = []outcome.Part{{Master: master, Held: held}}
	}
	return e
}

// Attempted implements waitqueue.Caller.
func (t *call) Attempted(attempt int, failed *outcome.Failure) {
	t.attempts = attempt
	t.c.traceAttempt(t.trace, t.l, attempt, failed)
}

// Pausing implements waitqueue.Caller.
func (t *call) Pausing(attempts int, d time.Duration, last *outcome.Failure) {
	t.l.traceRetry(t.trace, attempts, d, last)
}

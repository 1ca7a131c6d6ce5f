package redlock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redquorum/redquorum/internal/outcome"
	"github.com/redquorum/redquorum/internal/pilot"
	"github.com/redquorum/redquorum/internal/waitqueue"
	"github.com/redquorum/redquorum/internal/wire"
)

// A call is a Lock call under way. It makes the attempts for those who wait
// (waitqueue.Caller), each with a handle of its own: one that was rolled back is
// of no more use, for the late answers of its attempt are still on their way. It
// belongs to the goroutine of the call.
type call struct {
	c     *Client
	trace context.Context
	l     *Lock // the handle of the attempt under way, or of the last one; at first the template
	one   *Lock // the same of an attempt at one of several keys, as the plain lock that it is then; else nil
	used  bool  // an attempt was made with l
	pilot int   // that has granted the lock

	attempts int
}

// newCall is from the client's pool.
func (c *Client) newCall(template *Lock) *call {
	t, _ := c.calls.Get().(*call)
	if t == nil {
		t = &call{}
	}
	*t = call{c: c, trace: template.told, l: template}
	return t
}

// end returns what the call has come to, and gives it back to the pool.
func (t *call) end(failed *outcome.Failure) (l *Lock, attempts int, err error) {
	c := t.c
	l, attempts = t.l, t.attempts
	*t = call{}
	c.calls.Put(t)
	switch {
	case failed == nil:
		return l, attempts, nil
	case errors.Is(failed.Cause, ErrClosed):
		return nil, attempts, fmt.Errorf("redlock: %s %q: %w", failed.Op, failed.Key, ErrClosed)
	default:
		return nil, attempts, c.quorumError(failed) // each caller's error is its own
	}
}

// want is what the waiting is told of a call.
func (l *Lock) want(tries int) waitqueue.Want {
	return waitqueue.Want{
		Keys: l.claim.Keys, Kind: l.claim.Kind, Scripted: l.c.wire.Scripted(&l.claim), Fair: l.opts.fair,
		Limit: l.c.nodeTimeout(l.claim.TTL), Tries: tries, Backoff: l.opts.backoff,
	}
}

// fresh is a handle with which no attempt was made.
func (t *call) fresh() *Lock {
	if t.used {
		t.l, t.used = t.l.again(), false
	}
	t.one = nil
	return t.l
}

// next is the handle of the next attempt.
func (t *call) next() *Lock {
	l := t.fresh()
	t.used = true
	return l
}

// asked is the handle of the attempt under way.
func (t *call) asked() *Lock {
	if t.one != nil {
		return t.one
	}
	return t.l
}

// All implements waitqueue.Caller.
func (t *call) All(ctx context.Context, holders bool) *outcome.Failure {
	return t.c.attempt(ctx, t.next(), holders)
}

// Pilot implements waitqueue.Caller.
func (t *call) Pilot(ctx context.Context, pilot int, key string, at wire.Place) (granted bool, turn wire.Turn, err error) {
	c := t.c
	// Close waits for what is begun here; Others ends it.
	c.unfinished.Add()
	l := t.next()
	if l.claim.Kind.OneOf {
		t.one = l.slot(key)
		l = t.one
	}
	c.awaitVoters(ctx, l)
	l.begin()
	limit := c.wire.Patience(pilot, c.nodeTimeout(l.claim.TTL))
	if len(l.claim.Keys) > 1 {
		granted, turn, err = c.takeSet(ctx, l, pilot, limit)
	} else if granted, turn, err = c.wire.TakeAt(ctx, &l.claim, pilot, at, l.start, limit); !granted {
		l.rollback()
	}
	if t.pilot = pilot; !granted {
		c.unfinished.Done()
	}
	return granted, turn, err
}

// takeSet asks a pilot alone for several keys together. Where it does not grant
// them the turn tells which key is in the way.
func (c *Client) takeSet(ctx context.Context, l *Lock, pilot int, limit time.Duration) (granted bool, t wire.Turn, err error) {
	granted, err = c.wire.TakeSetAt(ctx, &l.claim, pilot, l.start, limit)
	if granted {
		return true, wire.Turn{}, nil
	}
	l.rollback()
	if err != nil {
		return false, wire.Turn{}, err
	}
	h, err := c.wire.HolderAt(ctx, &l.claim, pilot, limit)
	if err != nil {
		return false, wire.Turn{}, err
	}
	h.Key = c.withoutPrefix(h.Key)
	return false, wire.Turn{Held: h}, nil
}

// Others implements waitqueue.Caller.
func (t *call) Others(ctx context.Context, holders bool) *outcome.Failure {
	defer t.c.unfinished.Done()
	l := t.asked()
	failed := t.c.fanOut(ctx, l, 1<<t.pilot, holders)
	if failed == nil {
		t.l = l
	} else {
		failed.Key, failed.Others = t.l.key, len(t.l.others)
	}
	return failed
}

// Together implements waitqueue.Caller.
func (t *call) Together(ctx context.Context, pilot int, at wire.Place) (wire.PilotAnswer, *outcome.Failure) {
	c, l := t.c, t.next()
	c.unfinished.Add()
	defer c.unfinished.Done()
	c.awaitVoters(ctx, l)
	l.begin()
	l.take = c.wire.NewPilotTake(&l.claim, pilot, at)
	failed := c.fanOut(ctx, l, 0, false)
	said := l.take.Answer
	l.take = nil
	return said, failed
}

// Taken implements waitqueue.Caller.
func (t *call) Taken(master int, held *outcome.Held) *outcome.Failure {
	if master == pilot.None {
		t.fresh()
	}
	c, l := t.c, t.asked()
	e := &outcome.Failure{
		Op: wire.OpLock.String(), Key: t.l.key, Others: len(t.l.others),
		Need: c.need, Total: len(c.masters), Kind: outcome.Taken,
	}
	if l.claim.Token != "" {
		e.Elapsed = c.opts.clock.Now().Sub(l.start)
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

// slot is a handle for an attempt at one of several keys.
func (l *Lock) slot(key string) *Lock {
	one := l.again()
	one.key, one.others = l.c.withoutPrefix(key), nil
	one.claim.SetPlain(key)
	return one
}

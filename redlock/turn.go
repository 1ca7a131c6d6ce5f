package redlock

import (
	"context"
	"errors"
	"time"

	"github.com/redquorum/redquorum/internal/chance"
	"github.com/redquorum/redquorum/internal/outcome"
	"github.com/redquorum/redquorum/internal/pilot"
	"github.com/redquorum/redquorum/internal/wire"
)

// freeIn is the sooner of limit and when the pilot's key expires.
func freeIn(t *wire.Turn, random *chance.Source, limit time.Duration) time.Duration {
	if t.Held == nil || t.Held.TTL <= 0 {
		return limit
	}
	return min(limit, t.Held.TTL+random.N("poll", 5*time.Millisecond))
}

// take begins an attempt and asks the pilot alone for the lock. If it is granted the
// caller asks the others; otherwise the attempt is over.
func (c *Client) take(ctx context.Context, l *Lock, pilot int, at wire.Place) (granted bool, t wire.Turn, err error) {
	c.awaitVoters(ctx, l)
	l.begin()
	granted, t, err = c.wire.TakeAt(ctx, &l.claim, pilot, at, l.start, c.patience(pilot, l.claim.TTL))
	if !granted {
		l.rollback()
	}
	return granted, t, err
}

// patience is how long a pilot is waited for.
func (c *Client) patience(master int, ttl time.Duration) time.Duration {
	return c.wire.Patience(master, c.nodeTimeout(ttl))
}

// attemptOnce is the attempt of a call that has no place in the queue. One that
// asked for fairness yields to those that have.
func (c *Client) attemptOnce(ctx context.Context, l *Lock, holders bool) *outcome.Failure {
	if !l.opts.fair || !l.claim.Kind.Queued {
		return c.attempt(ctx, l, holders)
	}
	c.unfinished.Add()
	defer c.unfinished.Done()
	for passed := uint64(0); ; {
		master := c.pilots.Of(l.claim.Key(), passed)
		if master == pilot.None {
			return c.attempt(ctx, l, holders)
		}
		granted, t, err := c.take(ctx, l, master, wire.Place{Score: wire.NoPlace, OnlyFirst: true})
		switch {
		case granted:
			return c.fanOut(ctx, l, 1<<master, holders)
		case err == nil:
			return c.takenAt(l, master, t.Held)
		case errors.Is(err, ErrClosed), isContextError(err):
			failed := c.takenAt(l, master, nil)
			failed.Cause = err
			return failed
		}
		passed |= 1 << master
		l.anew()
	}
}

// anew makes a handle that was rolled back as good as new, where nobody else has
// seen it and no late answer of its attempt can reach it.
func (l *Lock) anew() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state, l.sent, l.claim.Absent, l.claim.Fence = held, false, 0, 0
}

// takenAt is the error of an attempt that went no further than the pilot, or
// not even there.
func (c *Client) takenAt(l *Lock, pilot int, held *outcome.Held) *outcome.Failure {
	e := &outcome.Failure{Op: wire.OpLock.String(), Key: l.key, Others: len(l.others), Need: c.need, Total: len(c.masters), Kind: outcome.Taken}
	if l.claim.Token != "" {
		e.Elapsed = c.opts.clock.Now().Sub(l.start)
	}
	if held != nil {
		e.Parts = []outcome.Part{{Master: pilot, Held: held}}
	}
	return e
}

// quorumConnected reports whether so many masters are.
func (c *Client) quorumConnected() bool {
	n := 0
	for _, m := range c.masters {
		if m.Connected() {
			n++
		}
	}
	return n >= c.need
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func isContextError(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

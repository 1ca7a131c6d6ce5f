package redlock

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redquorum/redquorum/internal/chance"
	"github.com/redquorum/redquorum/internal/outcome"
	"github.com/redquorum/redquorum/internal/pilot"
	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/script"
)

// A turn is what a pilot says to one who waits.
type turn struct {
	ours  bool          // the lock is free, and it is our turn
	first bool          // nobody is before us
	score string        // our place; "": none
	held  *outcome.Held // never nil once it was read
}

// readTurn reads what queue.lua says to wait, and to take that did not succeed.
func readTurn(reply any, err error) (turn, error) {
	if err != nil {
		return turn{}, err
	}
	if parts, ok := reply.([]any); ok && len(parts) == 6 {
		ours, ok1 := parts[0].(int64)
		score, ok2 := parts[1].([]byte)
		first, ok3 := parts[2].(int64)
		held, ok4 := readHolder(parts[3:])
		if ok1 && ok2 && ok3 && ok4 && isScore(string(score)) {
			return turn{ours: ours == 1, first: first == 1, score: string(score), held: held}, nil
		}
	}
	return turn{}, fmt.Errorf("%w: unexpected reply %.64q", pipeline.ErrProtocol, fmt.Sprint(reply))
}

func isScore(s string) bool {
	_, err := strconv.ParseInt(s, 10, 64)
	return s == "" || err == nil
}

// freeIn is the sooner of limit and when the pilot's key expires.
func (t *turn) freeIn(random *chance.Source, limit time.Duration) time.Duration {
	if t.held == nil || t.held.TTL <= 0 {
		return limit
	}
	return min(limit, t.held.TTL+random.N("poll", 5*time.Millisecond))
}

// take begins an attempt and asks the pilot alone for the lock. If it is
// granted the caller asks the others; otherwise the attempt is over. score is
// our place in the queue, or argNoWait; who yields takes the lock only where
// nobody else is first.
func (c *Client) take(ctx context.Context, l *Lock, pilot int, score any, yields bool) (granted bool, t turn, err error) {
	only := argAnybody
	if yields {
		only = argOnlyFirst
	}
	c.awaitVoters(ctx, l)
	l.begin()
	if l.isGuarded() {
		granted, t, err = l.takeGuarded(ctx, pilot, score, only)
	} else {
		granted, t, err = c.queryTurn(ctx, l, c.askVote(pilot, script.Queue, []any{l.claim.keys[0], queueKey(l.fullKey())}, argTake, c.id, score, l.claim.token, l.ttlArg(), only))
	}
	if granted {
		return true, turn{}, nil
	}
	l.claim.absent = c.everyone()
	if err != nil {
		l.claim.absent &^= 1 << pilot // whether it granted the lock is not known
	}
	l.rollback()
	return false, t, err
}

// queryTurn waits for the answer to take.
func (c *Client) queryTurn(ctx context.Context, l *Lock, q *query) (granted bool, t turn, err error) {
	reply, err := q.vote(ctx, l)
	if err == nil && reply == any("OK") {
		return true, turn{}, nil
	}
	t, err = readTurn(reply, err)
	return false, t, err
}

// attemptOnce is the attempt of a call that has no place in the queue. One that
// asked for fairness yields to those that have.
func (c *Client) attemptOnce(ctx context.Context, l *Lock, holders bool) *outcome.Failure {
	if !l.opts.fair || !l.claim.kind.queued {
		return c.attempt(ctx, l, holders)
	}
	c.unfinished.Add()
	defer c.unfinished.Done()
	for passed := uint64(0); ; {
		master := c.pilots.Of(l.fullKey(), passed)
		if master == pilot.None {
			return c.attempt(ctx, l, holders)
		}
		granted, t, err := c.take(ctx, l, master, argNoWait, true)
		switch {
		case granted:
			return c.fanOut(ctx, l, 1<<master, holders)
		case err == nil:
			return c.takenAt(l, master, t.held)
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
	l.state, l.sent, l.claim.absent, l.claim.fence = held, false, 0, 0
}

// takenAt is the error of an attempt that went no further than the pilot, or
// not even there.
func (c *Client) takenAt(l *Lock, pilot int, held *outcome.Held) *outcome.Failure {
	e := &outcome.Failure{Op: opLock.String(), Key: l.key, Others: len(l.others), Need: c.need, Total: len(c.masters), Kind: outcome.Taken}
	if l.claim.token != "" {
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

package redlock

import (
	"context"
	"time"

	"github.com/redquorum/redquorum/internal/wire"
)

// Lock acquires the key. It waits while somebody else holds it, for as long as ctx
// allows, and is woken when the lock is released. Callers that wait are served about
// in the order in which they came (see WithFairness). With WithTries or WithBackoff
// it polls instead.
//
// While no quorum can be had it waits for WithOutageWait (3 s by default) and then
// returns ErrNoQuorum, so that an outage does not look like contention. It returns
// at once where waiting cannot help: so many masters refuse the password, permit too
// little, or have another configuration that the others make no quorum. ctx bounds
// only the waiting, never the holding: the lock is held, and renewed, until Unlock.
// It does not remember that the work was done: whoever has waited looks for that first.
//
// An error is a *QuorumError that matches ErrTaken or ErrNoQuorum, or it matches
// ErrReentrant or ErrClosed, or names a bad argument. If ctx is over by then, it
// matches the error of ctx too. If ctx was over before, nothing is attempted, and the
// error matches that of ctx alone.
func (c *Client) Lock(ctx context.Context, key string, opts ...LockOption) (*Lock, error) {
	l, err := c.newLock(ctx, wire.OpLock, key, opts)
	if err != nil {
		return nil, err
	}
	return c.acquire(ctx, l, nil, false)
}

// TryLock is Lock with one attempt: it does not wait for a holder, nor does it join
// the queue. Where callers that came in one moment have split the votes, so that
// nobody has the lock, the attempt is made up to three times more, after short random
// pauses; not with WithTries or WithBackoff. TryLock does not overtake those who wait:
// where calls of this client do, or the key was contended within the last second, it
// asks the key's pilot first, and is refused if somebody waits there, or was called.
// It blocks for one or two round trips, and in all at the most for the masters'
// timeout.
func (c *Client) TryLock(ctx context.Context, key string, opts ...LockOption) (*Lock, error) {
	l, err := c.newLock(ctx, wire.OpLock, key, opts)
	if err != nil {
		return nil, err
	}
	return c.acquire(ctx, l, nil, true)
}

// acquire acquires a lock that newLock has made, in one attempt or as many as its options allow. If
// the context carries a hold on one of its keys, it asks no master. oneOf are the keys of which one is
// wanted; nil: those of the lock.
func (c *Client) acquire(ctx context.Context, l *Lock, oneOf []string, once bool) (*Lock, error) {
	if oneOf == nil {
		if inner, err := c.reenterFor(ctx, l); inner != nil || err != nil {
			return inner, endedBy(ctx, err)
		}
	}
	began, name := c.stopwatch(), l.Key() // of one of several keys it may be another in the end
	caller, tries := ctx, int(l.opts.tries)
	if once {
		tries = 1
	} else if d := l.opts.wait; d > 0 {
		waiting, stop := context.WithTimeout(ctx, d)
		defer stop()
		ctx = waiting
	}
	l.told = c.traceBegin(ctx, wire.OpLock, l, oneOf, once)
	start := time.Now()
	call, want := c.newCall(l), l.want(tries)
	if oneOf != nil {
		want.Keys = c.prefixed(oneOf)
		call.OneOf(oneOf[0], len(oneOf)-1)
	}
	if once {
		want.Until = start.Add(want.Limit)
		call.Once(want.Until, l.repeats(oneOf))
	}
	defer call.end()
	err := error(nil)
	if failed := c.waiting.Acquire(ctx, &want, call); failed != nil {
		err = c.failureError(failed)
		if q, ok := err.(*QuorumError); ok { //nolint:errorlint // it is this call's own, not one that it has met
			q.Elapsed = time.Since(start)
			//nolint:errorlint // the kind is set, never wrapped
			if l.opts.reenter && q.kind == ErrTaken && heldBySelf(q) {
				q.note = "this client holds it itself, under another context: " +
					"to share that hold, call it with lock.Context() of its holder"
			}
		}
		l, err = nil, endedBy(caller, endedBy(ctx, err))
	}
	c.traceWait(call.trace, wire.OpLock, name, l, call.attempts, sinceStart(began), err)
	return l, err
}

// WithFairness asks for first come, first served among all calls, of all clients,
// that ask for it. The order is that of clients, and within a client that of its
// calls: when a client gets the lock and another of its calls waits, that one joins
// the end of the queue. The promise holds while the key's pilot serves: the master
// that keeps the key's queue. Without the pilot the lock still excludes, but anybody
// may be next. Calls without this option may overtake in the instant between release
// and hand-over. All clients must write the masters' addresses the same way, or they
// do not wait for the same pilot. For LockAll and LockAny it promises less: such a call
// may overtake those who wait for its other keys.
//
// Every attempt then asks one master before the others, which takes one more round
// trip. TryLock, and calls with WithTries or WithBackoff, take the lock only where
// nobody waits.
func WithFairness() LockOption {
	return lockOption(func(o *lockOptions) error {
		o.fair = true
		return nil
	})
}

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
// While there is no quorum it waits for WithOutageWait (3 s by default) and then returns
// ErrNoQuorum, so that an outage does not look like contention. It returns at once if waiting
// cannot help: so many masters refuse the password, permit too little, or have another
// configuration that the others make no quorum. ctx bounds only the waiting, never the holding: the
// lock is held, and renewed, until Unlock. A lock does not remember that the work was done: after
// waiting, look for that first.
//
// An error is a *QuorumError that matches ErrTaken or ErrNoQuorum, or it matches ErrReentrant or
// ErrClosed, or names a bad argument. If ctx has ended by then, it matches ctx's error too. If ctx
// had ended before the call, nothing is attempted, and the error matches only ctx's error.
func (c *Client) Lock(ctx context.Context, key string, opts ...LockOption) (*Lock, error) {
	l, err := c.newLock(ctx, wire.OpLock, key, opts)
	if err != nil {
		return nil, err
	}
	return c.acquire(ctx, l, nil, false)
}

// TryLock is Lock with one attempt: it neither waits for a holder nor joins the queue. If callers
// that came at the same moment have split the votes, so that nobody has the lock, it repeats the
// attempt up to three times, after short random pauses; not with WithTries or WithBackoff. TryLock
// does not overtake waiters: if calls of this client wait, or the key was contended within the last
// second, it asks the key's pilot first, and is refused if a waiter is queued there, or was called.
// It blocks for one or two round trips, and for the masters' timeout at most.
func (c *Client) TryLock(ctx context.Context, key string, opts ...LockOption) (*Lock, error) {
	l, err := c.newLock(ctx, wire.OpLock, key, opts)
	if err != nil {
		return nil, err
	}
	return c.acquire(ctx, l, nil, true)
}

// acquire acquires a lock that newLock has made, in one attempt or as many as its options allow. If
// the context carries a hold on one of its keys, reenterFor decides. oneOf has the keys of which
// one is wanted; nil: the keys of the lock.
func (c *Client) acquire(ctx context.Context, l *Lock, oneOf []string, once bool) (*Lock, error) {
	if oneOf == nil {
		if inner, err := c.reenterFor(ctx, l); inner != nil || err != nil {
			return inner, endedBy(ctx, err)
		}
	}
	began, name := c.tracer.stopwatch(), l.Key() // with oneOf, the lock's key may change
	caller, tries := ctx, int(l.opts.tries)
	if once {
		tries = 1
	} else if d := l.opts.wait; d > 0 {
		waiting, stop := context.WithTimeout(ctx, d)
		defer stop()
		ctx = waiting
	}
	l.traceCtx = c.tracer.begin(ctx, wire.OpLock, l, oneOf, once)
	start := time.Now()
	call, want := c.newCall(l), l.want(tries)
	if oneOf != nil {
		want.Keys = c.opts.prefixed(oneOf)
		call.OneOf(oneOf[0], len(oneOf)-1)
	}
	if once {
		want.Until = start.Add(want.Limit)
		call.Once(want.Until, l.repeats(oneOf))
	}
	defer call.end()
	err := error(nil)
	if failed := c.waiting.Acquire(ctx, &want, call); failed != nil {
		err = c.errs.failureError(failed)
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
	c.tracer.wait(call.trace, wire.OpLock, name, l, call.attempts, sinceStart(began), err)
	return l, err
}

// WithFairness asks for first come, first served among all calls, of all clients, that ask for it.
// The queue orders clients, and each client orders its calls: when a client gets the lock and
// another of its calls waits, that call joins the end of the queue. The promise holds while the
// key's pilot serves: the master that keeps the key's queue. Without the pilot the lock still
// excludes, but anybody may be next. Calls without this option may overtake in the instant between
// release and hand-over. All clients must write the masters' addresses the same way, or they do not
// wait for the same pilot. For LockAll and LockAny it promises less: such a call may overtake calls
// that wait for its other keys.
//
// Every attempt then asks one master before the others, which takes one more round trip. TryLock,
// and calls with WithTries or WithBackoff, take the lock only if nobody waits.
func WithFairness() LockOption {
	return lockOption(func(o *lockOptions) error {
		o.fair = true
		return nil
	})
}

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
//
// An error is a *QuorumError that matches ErrTaken or ErrNoQuorum, and also the
// error of ctx if ctx ended the waiting. Or it matches ErrReentrant or ErrClosed, or
// names a bad argument.
func (c *Client) Lock(ctx context.Context, key string, opts ...LockOption) (*Lock, error) {
	return c.acquire(ctx, key, opts, false)
}

// TryLock is Lock with one attempt: it does not wait for a holder, nor does it join
// the queue. It blocks for about one round trip, two with WithFairness, and at the
// most for the masters' timeout.
func (c *Client) TryLock(ctx context.Context, key string, opts ...LockOption) (*Lock, error) {
	return c.acquire(ctx, key, opts, true)
}

func (c *Client) acquire(ctx context.Context, key string, opts []LockOption, once bool) (*Lock, error) {
	template, err := c.newLock(ctx, wire.OpLock, key, opts)
	if err != nil {
		return nil, err
	}
	return c.acquireLike(ctx, template, once)
}

// acquireLike acquires what a call is about, as newLock made it, unless the
// context carries a hold on one of the keys.
func (c *Client) acquireLike(ctx context.Context, template *Lock, once bool) (*Lock, error) {
	if l, err := c.reenterFor(ctx, template); l != nil || err != nil {
		return l, err
	}
	return c.acquireAs(ctx, template, once)
}

// acquireAs acquires what the template is for, in one attempt or as many as its
// options allow.
func (c *Client) acquireAs(ctx context.Context, template *Lock, once bool) (*Lock, error) {
	began := c.stopwatch()
	tries := int(template.opts.tries)
	if once {
		tries = 1
	} else if d := template.opts.wait; d > 0 {
		waiting, stop := context.WithTimeout(ctx, d)
		defer stop()
		ctx = waiting
	}
	template.told = c.traceBegin(ctx, wire.OpLock, template, once)
	start := time.Now()
	call, want := c.newCall(template), template.want(tries)
	defer call.end()
	l, err := template, error(nil)
	if failed := c.waiting.Acquire(ctx, &want, call); failed != nil {
		l, err = nil, c.failureError(failed)
	}
	if q, ok := err.(*QuorumError); ok { //nolint:errorlint // it is this call's own, not one that it has met
		q.Elapsed = time.Since(start)
	}
	c.traceWait(call.trace, wire.OpLock, template, l, call.attempts, sinceStart(began), err)
	return l, err
}

// WithFairness asks for first come, first served among all calls, of all clients,
// that ask for it: none of them takes a lock for which another one waits longer. The
// promise holds while the key's pilot serves: the master that keeps the key's queue.
// Without the pilot the lock still excludes, but
// anybody may be next. Calls without this option may overtake in the instant between
// release and hand-over. All clients must write the masters' addresses the same way,
// or they do not wait for the same pilot.
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

package redlock

import (
	"context"
	"fmt"

	"github.com/redquorum/redquorum/internal/wire"
)

// An RWMutex is a lock for many readers or one writer, by quorum like any other. Any
// quorum of a reader's masters and any quorum of a writer's share a master, and that
// master has only one of the two. It is safe for concurrent use.
//
// Its writer is the plain lock of the key, the same that [Client.Lock] takes. So plain locks of the
// key and other Redlock clients keep readers out, and readers keep them out. Every reader has a
// token and an expiry of its own. A reader that crashed keeps writers out for its TTL, whatever the
// other readers do.
//
// Releases wake waiters in alternating phases: a writer's release wakes all waiting readers, and
// the last reader's release wakes the writer that has waited longest. A waiting writer keeps new
// readers out, except those that waited before the last writer's release. So neither starves the
// other while the key's pilot serves; the pilot is the master that keeps the key's queue. Without
// it calls poll.
type RWMutex struct {
	c   *Client
	key string
}

// RWMutex makes a handle. It asks no master, and may be called as often as needed.
func (c *Client) RWMutex(key string) *RWMutex { return &RWMutex{c, key} }

// settleLongest sets for how long a reader can be alive at most. A master whose clock was set back
// shortens entries that last longer. Without a guard clients may differ in WithMaxTTL, so then it
// is the longest TTL that any client may have.
func (o *clientOptions) settleLongest() {
	longest := o.maxTTL
	if o.guard == GuardOff {
		longest = maxTTLLimit
	}
	o.longest = longest
}

// Lock acquires for writing. It is Client.Lock, at the same cost, with one
// difference: while it waits after a failed first attempt, new readers are kept out.
//
// Under a context that carries a hold of the key, also a reader's, it is refused
// with ErrReentrant: it would wait for itself.
func (m *RWMutex) Lock(ctx context.Context, opts ...LockOption) (*Lock, error) {
	l, err := m.c.newLock(ctx, wire.OpLock, m.key, opts)
	if err != nil {
		return nil, err
	}
	once := l.opts.tries == 1 // then it does not wait
	l.keepsReadersOut = !once
	return m.c.acquire(ctx, l, nil, once)
}

// TryLock acquires for writing, in one attempt: it is Client.TryLock.
func (m *RWMutex) TryLock(ctx context.Context, opts ...LockOption) (*Lock, error) {
	return m.c.TryLock(ctx, m.key, opts...)
}

// RLock acquires for reading, beside other readers. It waits while a writer holds
// the lock, or waits for it, as Lock waits for a holder, and the writer's release
// wakes it. It has the bounds and errors of [Client.Lock]. The lock is held, renewed,
// lost and unlocked like any other.
//
// Under a context that carries a hold of the key it is refused with ErrReentrant,
// also where that hold is a reader's: a writer that waits between the two would wait
// for the first, and the second for the writer.
func (m *RWMutex) RLock(ctx context.Context, opts ...LockOption) (*Lock, error) {
	return m.rlock(ctx, opts, false)
}

// TryRLock is RLock with one attempt. It does not wait for a writer.
func (m *RWMutex) TryRLock(ctx context.Context, opts ...LockOption) (*Lock, error) {
	return m.rlock(ctx, opts, true)
}

func (m *RWMutex) rlock(ctx context.Context, opts []LockOption, once bool) (*Lock, error) {
	l, err := m.c.newLock(ctx, wire.OpLock, m.key, opts)
	if err != nil {
		return nil, err
	}
	l.own.Claim().Kind = wire.Reader
	return m.c.acquire(ctx, l, nil, once)
}

// An upgradeError refuses a reader that wants to be the writer. Two such readers would wait for
// each other forever.
type upgradeError struct{ key string }

func (e *upgradeError) Error() string {
	return fmt.Sprintf("redlock: lock %q: %v for reading: unlock that first, a reader cannot become the writer",
		e.key, ErrReentrant)
}

func (e *upgradeError) Unwrap() error { return ErrReentrant }

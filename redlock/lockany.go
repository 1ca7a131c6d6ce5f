package redlock

import (
	"context"
	"slices"

	"github.com/redquorum/redquorum/internal/wire"
)

// LockAny acquires exactly one of the keys, whichever is free; the lock's Key tells
// which. From then on it is the plain lock of that key. So at most as many callers
// hold a lock as there are keys: it is a counting semaphore. Or each key stands for
// a segment of the work, and each segment is locked by itself.
//
// The keys are tried in an order that is random for each attempt and the same on all
// masters. While many contend, votes may be split among keys, so that an attempt
// fails with ErrTaken although a key is free; LockAny then tries again with another
// order. 1 to 128 keys, duplicates count once; with one key it is Lock.
//
// Waiting and errors are those of Lock. It is refused with ErrReentrant only if the
// context carries holds on all of the keys, because then none can become free while
// the caller waits.
func (c *Client) LockAny(ctx context.Context, keys []string, opts ...LockOption) (*Lock, error) {
	return c.lockAny(ctx, keys, opts, false)
}

// TryLockAny is LockAny with one attempt, as TryLock is Lock with one. Among
// contenders it may fail although a key is free.
func (c *Client) TryLockAny(ctx context.Context, keys []string, opts ...LockOption) (*Lock, error) {
	return c.lockAny(ctx, keys, opts, true)
}

func (c *Client) lockAny(ctx context.Context, keys []string, opts []LockOption, once bool) (*Lock, error) {
	template, err := c.newSet(ctx, wire.AnyOf, keys, opts)
	if err != nil {
		return nil, err
	}
	free := func(key string) bool { return c.holdIn(ctx, key) == nil }
	if !slices.ContainsFunc(template.Keys(), free) {
		return nil, &reentrantError{template.Key()}
	}
	return c.acquireAs(ctx, template, once)
}

package redlock

import (
	"context"
	"fmt"
	"slices"

	"github.com/redquorum/redquorum/internal/wire"
)

// LockAll and LockAny share this: their calls name several keys.

// newSeveral checks a call that names several keys. It sorts the keys, removes duplicates, and
// makes the handle of the first.
func (c *Client) newSeveral(
	ctx context.Context, keys []string, opts []LockOption,
) (l *Lock, sorted []string, err error) {
	if err := c.check(ctx); err != nil {
		return nil, nil, fmt.Errorf("redlock: %v: %w", wire.OpLock, err)
	}
	if n := len(keys); n < 1 || n > wire.MaxKeys {
		return nil, nil, fmt.Errorf("redlock: %v: %d keys: want 1 to %d", wire.OpLock, n, wire.MaxKeys)
	}
	for i, key := range keys {
		if err := c.opts.checkKey(key); err != nil {
			return nil, nil, fmt.Errorf("redlock: %v: number %d of %d keys: %w", wire.OpLock, i+1, len(keys), err)
		}
	}
	keys = slices.Clone(keys)
	slices.Sort(keys)
	keys = slices.Compact(keys)
	l, err = c.newLock(ctx, wire.OpLock, keys[0], opts)
	return l, keys, err
}

// has reports whether key is one of the lock's.
func (l *Lock) has(key string) bool {
	h := l.handle.Hold()
	return h.Name() == key || slices.Contains(h.Others(), key)
}

// LockAll acquires all of the keys or none, as one lock: one token, one context, one
// Unlock. A master votes only if every key is free there; otherwise it writes
// nothing. So callers whose keys overlap do not block each other half way: nobody
// waits while holding some of the keys. A set costs one round trip, as one key does.
//
// The keys may be given in any order and more than once; the lock's Keys are sorted,
// and each is there once. 1 to 128 keys; with one key it is Lock. Each key excludes
// only other locks of that key, also those of other clients.
//
// It waits and fails as Lock does. It is refused with ErrReentrant if the
// context carries a hold on any of the keys.
func (c *Client) LockAll(ctx context.Context, keys []string, opts ...LockOption) (*Lock, error) {
	return c.lockAll(ctx, keys, opts, false)
}

// TryLockAll is LockAll with one attempt, as TryLock is Lock with one.
func (c *Client) TryLockAll(ctx context.Context, keys []string, opts ...LockOption) (*Lock, error) {
	return c.lockAll(ctx, keys, opts, true)
}

func (c *Client) lockAll(ctx context.Context, keys []string, opts []LockOption, once bool) (*Lock, error) {
	l, keys, err := c.newSeveral(ctx, keys, opts)
	if err != nil {
		return nil, err
	}
	if len(keys) > 1 {
		l.own.BeSet(keys, c.opts.prefixed(keys))
	}
	return c.acquire(ctx, l, nil, once)
}

// LockAny acquires exactly one of the keys, whichever is free; the lock's Key tells which. From
// then on it is the plain lock of that key. So at most as many callers hold a lock as there are
// keys: it is a counting semaphore. Or each key is one segment of the work, and each segment is
// locked by itself.
//
// It asks the pilots of all keys at once which keys are free, and tries those one after the other,
// in a random order: two round trips if one is free. Otherwise it waits for one key at a time, as
// Lock does, for 0.2 s and then for up to 2 s; in between it looks at others. So a key that is
// released while everybody waits for other keys may stay free for that long. 1 to 128 keys,
// duplicates count once; with one key it is Lock.
//
// It has the errors and bounds of Lock. An error is about the key that is free
// soonest. It is refused with ErrReentrant only if the context carries holds on all
// of the keys, because then none can become free while the caller waits.
func (c *Client) LockAny(ctx context.Context, keys []string, opts ...LockOption) (*Lock, error) {
	return c.lockAny(ctx, keys, opts, false)
}

// TryLockAny looks at all of the keys once, and tries those that are free. Among
// contenders it may fail although a key is free.
func (c *Client) TryLockAny(ctx context.Context, keys []string, opts ...LockOption) (*Lock, error) {
	return c.lockAny(ctx, keys, opts, true)
}

func (c *Client) lockAny(ctx context.Context, keys []string, opts []LockOption, once bool) (*Lock, error) {
	l, keys, err := c.newSeveral(ctx, keys, opts)
	switch {
	case err != nil:
		return nil, err
	case len(keys) == 1:
		return c.acquire(ctx, l, nil, once)
	case !slices.ContainsFunc(keys, func(key string) bool { return c.holdIn(ctx, key) == nil }):
		return nil, endedBy(ctx, &reentrantError{keys[0]})
	}
	return c.acquire(ctx, l, keys, once)
}

package redlock

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/redquorum/redquorum/internal/wire"
)

// What LockAll and LockAny share: calls that name several keys.

// newSet checks a call that names several keys and makes the handle that it is
// about: of that kind, or plain where there is only one key. The keys are
// sorted, and each is there once.
func (c *Client) newSet(ctx context.Context, k *wire.Kind, keys []string, opts []LockOption) (*Lock, error) {
	if n := len(keys); n < 1 || n > wire.MaxKeys {
		return nil, fmt.Errorf("redlock: %v: %d keys: want 1 to %d", wire.OpLock, n, wire.MaxKeys)
	}
	for i, key := range keys {
		if err := c.checkKey(key); err != nil {
			return nil, fmt.Errorf("redlock: %v: number %d of %d keys: %w", wire.OpLock, i+1, len(keys), err)
		}
	}
	keys = slices.Clone(keys)
	slices.Sort(keys)
	keys = slices.Compact(keys)

	l, err := c.newLock(ctx, wire.OpLock, keys[0], opts)
	if err != nil || len(keys) == 1 {
		return l, err
	}
	prefixed := make([]string, len(keys))
	for i, key := range keys {
		prefixed[i] = c.opts.prefix + key
	}
	l.own.Several(k, keys, prefixed)
	return l, nil
}

// has reports whether key is one of the lock's.
func (l *Lock) has(key string) bool {
	h := l.handle.Hold()
	return h.Name() == key || slices.Contains(h.Others(), key)
}

// withoutPrefix is the name under which the caller knows a key.
func (c *Client) withoutPrefix(key string) string { return strings.TrimPrefix(key, c.opts.prefix) }

// LockAll acquires all of the keys or none, as one lock: one token, one context, one
// Unlock. A master votes only if every key is free there; otherwise it writes
// nothing. So callers whose keys overlap do not block each other half way: nobody
// waits while holding some of the keys. A set costs one round trip, as one key does.
//
// The keys may be given in any order and more than once; the lock's Keys are sorted,
// and each is there once. 1 to 128 keys; with one key it is Lock. Each key excludes
// only other locks of that key, also those of other clients.
//
// Waiting and errors are those of Lock. It is refused with ErrReentrant if the
// context carries a hold on any of the keys.
func (c *Client) LockAll(ctx context.Context, keys []string, opts ...LockOption) (*Lock, error) {
	return c.lockAll(ctx, keys, opts, false)
}

// TryLockAll is LockAll with one attempt, as TryLock is Lock with one.
func (c *Client) TryLockAll(ctx context.Context, keys []string, opts ...LockOption) (*Lock, error) {
	return c.lockAll(ctx, keys, opts, true)
}

func (c *Client) lockAll(ctx context.Context, keys []string, opts []LockOption, once bool) (*Lock, error) {
	template, err := c.newSet(ctx, wire.Set, keys, opts)
	if err != nil {
		return nil, err
	}
	return c.acquireLike(ctx, template, once)
}

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

package redlock

import (
	"context"

	"github.com/redquorum/redquorum/internal/wire"
)

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

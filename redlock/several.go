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
	prefixed := make([]any, len(keys))
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

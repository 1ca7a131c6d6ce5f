package redlock

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/redquorum/redquorum/internal/outcome"
)

// What LockAll and LockAny share: calls that name several keys.

// maxKeys bounds the keys of one call: a master does nothing else while it
// executes a script, some 2 µs a key.
const maxKeys = 128

// newSet checks a call that names several keys and makes the handle that it is
// about: of that kind, or plain where there is only one key. The keys are
// sorted, and each is there once.
func (c *Client) newSet(ctx context.Context, k *kind, keys []string, opts []LockOption) (*Lock, error) {
	if n := len(keys); n < 1 || n > maxKeys {
		return nil, fmt.Errorf("redlock: %v: %d keys: want 1 to %d", opLock, n, maxKeys)
	}
	for i, key := range keys {
		if err := c.checkKey(key); err != nil {
			return nil, fmt.Errorf("redlock: %v: number %d of %d keys: %w", opLock, i+1, len(keys), err)
		}
	}
	keys = slices.Clone(keys)
	slices.Sort(keys)
	keys = slices.Compact(keys)

	l, err := c.newLock(ctx, opLock, keys[0], opts)
	if err != nil || len(keys) == 1 {
		return l, err
	}
	l.claim.kind, l.others = k, keys[1:]
	l.claim.keys = make([]any, len(keys))
	for i, key := range keys {
		l.claim.keys[i] = c.opts.prefix + key
	}
	return l, nil
}

// nthKey is the lock's key number i, counted from 0.
func (l *Lock) nthKey(i int) string {
	if i == 0 {
		return l.key
	}
	return l.others[i-1]
}

// has reports whether key is one of the lock's.
func (l *Lock) has(key string) bool { return l.key == key || slices.Contains(l.others, key) }

// readHolderAmong reads what the script holderamong returns: what the script
// holder does, and the key that it is about.
func readHolderAmong(parts []any) (*outcome.Held, bool) {
	h, ok := readHolder(parts[:3])
	key, isKey := parts[3].([]byte)
	if !ok || !isKey || len(key) > 2*maxKey { // a prefix may be as long again
		return nil, false
	}
	if h.Type != "none" {
		h.Key = string(key)
	}
	return h, true
}

// withoutPrefix is the name under which the caller knows a key.
func (c *Client) withoutPrefix(key string) string { return strings.TrimPrefix(key, c.opts.prefix) }

package fleets

import (
	"context"

	"github.com/redquorum/redquorum/redlock"
)

// An RWMutex is a lock for many readers or one writer, in the shard of its key: see
// redlock.RWMutex. Its writer is the plain lock of the key. It is safe for concurrent use.
type RWMutex struct {
	s   *Shards
	key string
}

// RWMutex makes a handle. It asks no master, and may be called as often as needed.
func (s *Shards) RWMutex(key string) *RWMutex { return &RWMutex{s, key} }

// Lock acquires for writing. Readers that come later are kept out while it waits.
func (m *RWMutex) Lock(ctx context.Context, opts ...redlock.LockOption) (Hold, error) {
	return m.acquire(ctx, asWriter, false, opts)
}

// TryLock is Lock with one attempt.
func (m *RWMutex) TryLock(ctx context.Context, opts ...redlock.LockOption) (Hold, error) {
	return m.acquire(ctx, asWriter, true, opts)
}

// RLock acquires for reading, beside other readers.
func (m *RWMutex) RLock(ctx context.Context, opts ...redlock.LockOption) (Hold, error) {
	return m.acquire(ctx, asReader, false, opts)
}

// TryRLock is RLock with one attempt.
func (m *RWMutex) TryRLock(ctx context.Context, opts ...redlock.LockOption) (Hold, error) {
	return m.acquire(ctx, asReader, true, opts)
}

func (m *RWMutex) acquire(ctx context.Context, w way, once bool, opts []redlock.LockOption) (Hold, error) {
	if err := m.s.check(); err != nil {
		return nil, err
	}
	return acquireParts(ctx, m.key, m.s.plan([]string{m.key}, ""), w, once, opts, &m.s.jobs)
}

func asWriter(ctx context.Context, c *redlock.Client, keys []string, once bool, opts []redlock.LockOption) (*redlock.Lock, error) {
	if once {
		return c.RWMutex(keys[0]).TryLock(ctx, opts...)
	}
	return c.RWMutex(keys[0]).Lock(ctx, opts...)
}

func asReader(ctx context.Context, c *redlock.Client, keys []string, once bool, opts []redlock.LockOption) (*redlock.Lock, error) {
	if once {
		return c.RWMutex(keys[0]).TryRLock(ctx, opts...)
	}
	return c.RWMutex(keys[0]).RLock(ctx, opts...)
}

package redlock

import (
	"context"
	"errors"
	"fmt"
)

// unsupported is the answer of what this version does not offer yet; it
// matches errors.ErrUnsupported. Nothing has been done.
func unsupported(what string) error {
	return fmt.Errorf("redlock: %s is not available in this version: %w", what, errors.ErrUnsupported)
}

// LockAll acquires all of the keys or none. Not available in this version: the
// error matches errors.ErrUnsupported.
func (c *Client) LockAll(_ context.Context, _ []string, _ ...LockOption) (*Lock, error) {
	return nil, unsupported("LockAll")
}

// TryLockAll is LockAll with one attempt. Not available in this version.
func (c *Client) TryLockAll(_ context.Context, _ []string, _ ...LockOption) (*Lock, error) {
	return nil, unsupported("TryLockAll")
}

// LockAny acquires exactly one of the keys. Not available in this version: the
// error matches errors.ErrUnsupported.
func (c *Client) LockAny(_ context.Context, _ []string, _ ...LockOption) (*Lock, error) {
	return nil, unsupported("LockAny")
}

// TryLockAny is LockAny with one attempt. Not available in this version.
func (c *Client) TryLockAny(_ context.Context, _ []string, _ ...LockOption) (*Lock, error) {
	return nil, unsupported("TryLockAny")
}

// An RWMutex is a lock for many readers or one writer. Its writer is the plain
// lock of its key.
type RWMutex struct {
	c   *Client
	key string
}

// RWMutex makes a handle; it asks nobody.
func (c *Client) RWMutex(key string) *RWMutex { return &RWMutex{c, key} }

// Lock acquires for writing: it is Client.Lock.
func (m *RWMutex) Lock(ctx context.Context, opts ...LockOption) (*Lock, error) {
	return m.c.Lock(ctx, m.key, opts...)
}

// TryLock acquires for writing, in one attempt: it is Client.TryLock.
func (m *RWMutex) TryLock(ctx context.Context, opts ...LockOption) (*Lock, error) {
	return m.c.TryLock(ctx, m.key, opts...)
}

// RLock acquires for reading. Not available in this version: the error matches
// errors.ErrUnsupported.
func (m *RWMutex) RLock(_ context.Context, _ ...LockOption) (*Lock, error) {
	return nil, unsupported("RWMutex.RLock")
}

// TryRLock is RLock with one attempt. Not available in this version.
func (m *RWMutex) TryRLock(_ context.Context, _ ...LockOption) (*Lock, error) {
	return nil, unsupported("RWMutex.TryRLock")
}

// An Inspection tells who holds a lock, as the masters see it.
type Inspection struct {
	Key     string
	Masters []MasterHold
	Verdict string // in words: free, held by a quorum, split, held without a quorum
}

// A MasterHold is one master's part of an Inspection.
type MasterHold struct {
	Master string
	Held   *HeldError // nil: free, or unknown because of Err
	Err    error
}

// Inspect asks the masters who holds the key. Not available in this version:
// the error matches errors.ErrUnsupported.
func (c *Client) Inspect(_ context.Context, _ string) (*Inspection, error) {
	return nil, unsupported("Inspect")
}

// Init declares a new fleet of masters. Not available in this version: the
// error matches errors.ErrUnsupported.
func (c *Client) Init(_ context.Context) error { return unsupported("Init") }

// WithFencing asks for a fencing token. Not available in this version: the
// error matches errors.ErrUnsupported.
func WithFencing() LockOption { return unavailable("WithFencing") }

// WithReentrancy allows to lock again what the context already holds. Not
// available in this version: the error matches errors.ErrUnsupported.
func WithReentrancy() LockOption { return unavailable("WithReentrancy") }

func unavailable(option string) LockOption {
	return lockOption(func(*lockOptions) error {
		return fmt.Errorf("%s is not available in this version: %w", option, errors.ErrUnsupported)
	})
}

// A GuardLevel says how much a master has to prove before its vote counts.
type GuardLevel uint8

// Guard levels.
const (
	// GuardOff believes every master. It is all that this version offers:
	// mutual exclusion needs masters that forget nothing when they restart
	// (appendfsync always, or a restart delayed by more than the longest TTL),
	// evict nothing and are not replaced by a replica.
	GuardOff GuardLevel = iota
	// GuardStandard will not count masters that have restarted lately, may
	// evict keys or are no masters. Not available in this version.
	GuardStandard
	// GuardStrict will compare clocks with every grant too. Not available in
	// this version.
	GuardStrict
)

// WithGuard sets the guard level. This version knows GuardOff only; for the
// others the error matches errors.ErrUnsupported.
func WithGuard(level GuardLevel) Option {
	return clientOption(func(*clientOptions) error {
		switch level {
		case GuardOff:
			return nil
		case GuardStandard, GuardStrict:
			return fmt.Errorf("WithGuard: this level is not available in this version: %w", errors.ErrUnsupported)
		default:
			return fmt.Errorf("WithGuard: %d: want GuardOff, GuardStandard or GuardStrict", level)
		}
	})
}

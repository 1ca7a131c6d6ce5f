package redlock

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/redquorum/redquorum/internal/wire"
)

// A Semaphore is a lock that up to a number of callers hold at once, counted over all clients. It
// is [Client.LockAny] over the keys name#1, name#2 and so on, so each permit excludes like any
// lock. It is safe for concurrent use.
type Semaphore struct {
	c       *Client
	name    string
	permits int
}

// Semaphore makes a handle on a semaphore with that many permits, 1 to 128. It asks no
// master, and may be called as often as needed. All clients must use the same number: a
// client with a larger one lets in more. A number out of range is an error of Acquire.
func (c *Client) Semaphore(name string, permits int) *Semaphore {
	return &Semaphore{c, name, permits}
}

// Acquire acquires a permit. It waits while all are held; the lock's Key tells which it
// is. It has the options and errors of [Client.LockAny].
func (s *Semaphore) Acquire(ctx context.Context, opts ...LockOption) (*Lock, error) {
	return s.acquire(ctx, opts, false)
}

// TryAcquire is Acquire with one attempt. Among contenders it may fail although a permit
// is free.
func (s *Semaphore) TryAcquire(ctx context.Context, opts ...LockOption) (*Lock, error) {
	return s.acquire(ctx, opts, true)
}

// Do acquires a permit, runs fn while it is held, and releases it: [Client.Do] for a
// semaphore.
func (s *Semaphore) Do(ctx context.Context, fn func(ctx context.Context) error, opts ...LockOption) error {
	if fn == nil {
		return fmt.Errorf("redlock: do %q: the function is nil", s.name)
	}
	l, err := s.acquire(ctx, opts, false)
	return doHeld(ctx, l, err, fn)
}

func (s *Semaphore) acquire(ctx context.Context, opts []LockOption, once bool) (*Lock, error) {
	if s.name == "" {
		return nil, errors.New("redlock: semaphore: the name is empty")
	}
	if s.permits < 1 || s.permits > wire.MaxKeys {
		return nil, fmt.Errorf("redlock: semaphore %q: %d permits: want 1 to %d", s.name, s.permits, wire.MaxKeys)
	}
	keys := make([]string, s.permits)
	for i := range keys {
		keys[i] = s.name + "#" + strconv.Itoa(i+1)
	}
	return s.c.lockAny(ctx, keys, opts, once)
}

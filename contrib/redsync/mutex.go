package redsync

import (
	"context"
	"sync"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// A Mutex is a distributed mutual exclusion lock. It may be locked again after it
// was unlocked or has expired. It is safe for concurrent use, except for Options
// that are applied to it.
type Mutex struct {
	redsync *Redsync
	name    string

	expiry        time.Duration
	tries         int
	delayFunc     DelayFunc
	driftFactor   float64
	genValueFunc  func() (string, error)
	setNXOnExtend bool

	mu    sync.Mutex    // guards what follows; it is not held during round trips
	hold  *redlock.Lock // the last one; nil: there is none, or only its value is known
	value string
	until time.Time
}

// Name returns the mutex's name, the key in Redis.
func (m *Mutex) Name() string { return m.name }

// Value returns the token of the lock. It is empty until the lock is acquired, unless
// WithValue set it.
func (m *Mutex) Value() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.value
}

// Until returns the end of the acquired lock's validity. It is zero before.
func (m *Mutex) Until() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.until
}

// TryLock is Lock with one attempt.
func (m *Mutex) TryLock() error { return m.TryLockContext(context.Background()) }

// TryLockContext is LockContext with one attempt.
func (m *Mutex) TryLockContext(ctx context.Context) error { return m.acquire(ctx, 1) }

// Lock acquires the lock, in as many attempts as WithTries says. After an error it
// may be called again.
func (m *Mutex) Lock() error { return m.LockContext(context.Background()) }

// LockContext is Lock; ctx bounds the wait, never the hold.
func (m *Mutex) LockContext(ctx context.Context) error { return m.acquire(ctx, m.tries) }

// Unlock releases the lock, and reports whether a quorum of masters confirmed it.
func (m *Mutex) Unlock() (bool, error) { return m.UnlockContext(context.Background()) }

// UnlockContext is Unlock; ctx bounds the wait for the masters. The release is sent in any
// case.
func (m *Mutex) UnlockContext(ctx context.Context) (bool, error) {
	ctx = orBackground(ctx)
	lock, _, err := m.held(ctx)
	if err == nil {
		err = lock.Unlock(ctx)
	}
	if err != nil {
		return false, m.unlockError(err)
	}
	return true, nil
}

// Extend extends the lock to a full expiry from now, and reports whether a quorum of
// masters still had it.
func (m *Mutex) Extend() (bool, error) { return m.ExtendContext(context.Background()) }

// ExtendContext is Extend; ctx bounds the wait for the masters.
func (m *Mutex) ExtendContext(ctx context.Context) (bool, error) {
	ctx = orBackground(ctx)
	if err := m.unsafeOption(); err != nil {
		return false, err
	}
	lock, adopted, err := m.held(ctx)
	if err == nil && !adopted {
		err = lock.Extend(ctx)
	}
	if err != nil {
		return false, m.notHeldError(err)
	}
	if !m.keep(lock) {
		return false, ErrExtendFailed
	}
	return true, nil
}

// Valid asks the masters whether a quorum still has the lock.
//
// Deprecated: redsync advises to use Until instead.
func (m *Mutex) Valid() (bool, error) { return m.ValidContext(context.Background()) }

// ValidContext is Valid; ctx bounds the wait for the masters.
//
// Deprecated: redsync advises to use Until instead.
func (m *Mutex) ValidContext(ctx context.Context) (bool, error) {
	ctx = orBackground(ctx)
	if err := m.unsafeOption(); err != nil {
		return false, err
	}
	lock, value := m.current()
	if lock == nil {
		return m.stands(ctx, value)
	}
	if err := lock.Verify(ctx); err != nil {
		return false, m.notHeldError(err)
	}
	return true, nil
}

func (m *Mutex) current() (*redlock.Lock, string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.hold, m.value
}

// orBackground lets ctx be nil, as redsync does.
func orBackground(ctx context.Context) context.Context {
	if ctx == nil {
		return context.Background()
	}
	return ctx
}

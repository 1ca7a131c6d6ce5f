package redsync

import (
	"context"
	"log/slog"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// maxTries is the most that redlock.WithTries takes.
const maxTries = 1_000_000

// defaultDriftFactor is redsync's default, and the client's.
const defaultDriftFactor = 0.01

// acquire locks in at most that many tries.
func (m *Mutex) acquire(ctx context.Context, tries int) error {
	ctx = orBackground(ctx)
	options, err := m.lockOptions(tries)
	if err != nil {
		return err
	}
	if tries < 1 {
		return ErrFailed
	}
	s, err := m.redsync.use()
	if err != nil {
		return err
	}
	lock, err := s.client.Lock(ctx, m.name, options...)
	if err != nil {
		return m.lockError(ctx, err)
	}
	if !m.keep(lock) {
		_ = lock.Unlock(ctx) // the release is sent even if this fails; otherwise the key expires
		return ErrFailed
	}
	return nil
}

// lockOptions translates redsync's options to redlock's: a lease, because nothing renews
// a mutex, and polling, because tries and delays mean polling.
func (m *Mutex) lockOptions(tries int) ([]redlock.LockOption, error) {
	if err := m.unsafeOption(); err != nil {
		return nil, err
	}
	options := []redlock.LockOption{
		redlock.WithLease(m.wholeExpiry()),
		redlock.WithUnlockOnly(), // another mutex may hold it by its value
		redlock.WithTries(min(max(tries, 1), maxTries)),
		redlock.WithBackoff(m.delayFunc),
	}
	if m.genValueFunc == nil {
		return options, nil
	}
	owner, err := m.genValueFunc()
	switch {
	case err != nil:
		return nil, err
	case ownerName(owner):
		options = append(options, redlock.WithOwner(owner))
	default:
		m.redsync.warned.Do(func() {
			slog.Warn("a value of WithGenValueFunc cannot be part of a lock's value: "+
				"want 1 to 64 bytes of printable ASCII, no space, no colon; "+
				"Mutex.Value gives the value that stands in Redis", "mutex", m.name)
		})
	}
	return options, nil
}

// wholeExpiry is the expiry in whole milliseconds, as Redis counts. redsync also cuts the rest off.
func (m *Mutex) wholeExpiry() time.Duration { return m.expiry.Truncate(time.Millisecond) }

// keep records a lock that was acquired, adopted or extended, and reports whether it is
// still valid.
func (m *Mutex) keep(lock *redlock.Lock) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	until := lock.ValidUntil().Add(-m.furtherDrift())
	if lock.Remaining() <= m.furtherDrift() {
		return false
	}
	m.hold, m.value, m.until = lock, lock.Token(), until
	return true
}

// furtherDrift is how much WithDriftFactor shortens the validity beyond the client's own
// allowance.
func (m *Mutex) furtherDrift() time.Duration {
	return time.Duration(max(m.driftFactor-defaultDriftFactor, 0) * float64(m.expiry))
}

// ownerName reports whether redlock.WithOwner accepts the name.
func ownerName(name string) bool {
	for _, c := range []byte(name) {
		if c <= ' ' || c > '~' || c == ':' {
			return false
		}
	}
	return name != "" && len(name) <= 64
}

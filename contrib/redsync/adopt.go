package redsync

import (
	"context"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// maxLookedAt is how many bytes of a value redlock.Client.Inspect shows.
const maxLookedAt = 256

// setValue gives the mutex the value of a lock that was acquired elsewhere.
func (m *Mutex) setValue(value string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hold, m.value, m.until = nil, value, time.Time{}
}

// held returns the lock of the mutex. If only its value is known, held adopts the lock for
// a full expiry.
func (m *Mutex) held(ctx context.Context) (lock *redlock.Lock, adopted bool, err error) {
	lock, value := m.current()
	if lock != nil {
		return lock, false, nil
	}
	if value == "" {
		return nil, false, errNeverLocked
	}
	s, err := m.redsync.use()
	if err != nil {
		return nil, false, err
	}
	lock, err = s.client.Adopt(ctx, m.name, value, redlock.WithLease(m.wholeExpiry()), redlock.WithUnlockOnly())
	if err != nil {
		return nil, false, err
	}
	m.mu.Lock()
	m.hold, m.value = lock, lock.Token()
	m.mu.Unlock()
	return lock, true, nil
}

// stands reports whether a quorum has a value that was never adopted. It changes nothing
// on the masters.
func (m *Mutex) stands(ctx context.Context, value string) (bool, error) {
	if value == "" {
		return false, m.notHeldError(errNeverLocked)
	}
	s, err := m.redsync.use()
	if err != nil {
		return false, err
	}
	found, err := s.client.Inspect(ctx, m.name)
	if err != nil {
		return false, m.notHeldError(err)
	}
	shown := value[:min(len(value), maxLookedAt)]
	for _, holder := range found.Holders {
		if holder.Token == shown && holder.Masters >= found.Need {
			return true, nil
		}
	}
	if found.Verdict == redlock.VerdictUnknown {
		return false, s.inspectError(found)
	}
	return false, m.notHeldError(errElsewhere)
}

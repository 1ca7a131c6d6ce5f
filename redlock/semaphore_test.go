package redlock_test

import (
	"strings"
	"testing"

	"github.com/redquorum/redquorum/redlock"
)

func TestAPermitIsALockOfOneOfTheSemaphoresKeys(t *testing.T) {
	inSim(t, 3, func(t *testing.T, s *sim) {
		sem := s.open().Semaphore("pool", 2)
		held := map[string]bool{}
		for range 2 {
			held[s.must(sem.Acquire(t.Context())).Key()] = true
		}
		if !held["pool#1"] || !held["pool#2"] {
			t.Errorf("%v are held, want pool#1 and pool#2", held)
		}
		_, err := sem.TryAcquire(t.Context())
		wantExactly(t, err, redlock.ErrTaken)
		_, err = s.open().TryLock(t.Context(), "pool#1")
		wantExactly(t, err, redlock.ErrTaken)
	})
}

func TestAWrongNumberOfPermitsIsAnErrorOfAcquire(t *testing.T) {
	inSim(t, 3, func(t *testing.T, s *sim) {
		c := s.open()
		for _, permits := range []int{-1, 0, 129} {
			if _, err := c.Semaphore("pool", permits).Acquire(t.Context()); err == nil || !strings.Contains(err.Error(), "permits: want 1 to 128") {
				t.Errorf("%d permits: %v", permits, err)
			}
		}
		if _, err := c.Semaphore("", 1).TryAcquire(t.Context()); err == nil || !strings.Contains(err.Error(), "the name is empty") {
			t.Error(err)
		}
		for _, permits := range []int{1, 128} {
			l, err := c.Semaphore("pool", permits).Acquire(t.Context())
			if err != nil {
				t.Error(err)
				continue
			}
			unlock(t, l)
		}
	})
}

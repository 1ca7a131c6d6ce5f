package redlock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

func TestAPermitIsALockOfOneOfTheSemaphoresKeys(t *testing.T) {
	inSim(t, 3, func(t *testing.T, s *sim) {
		sem := s.open().Semaphore("pool", 2)
		held := map[string]bool{}
		for range 2 {
			l, err := sem.Acquire(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			held[l.Key()] = true
		}
		if !held["pool#1"] || !held["pool#2"] {
			t.Errorf("%v are held, want pool#1 and pool#2", held)
		}
		if _, err := sem.TryAcquire(t.Context()); !errors.Is(err, redlock.ErrTaken) {
			t.Errorf("%v, want ErrTaken", err)
		}
		if _, err := sem.Acquire(t.Context(), redlock.WithWait(time.Second)); !errors.Is(err, redlock.ErrTaken) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v, want ErrTaken and DeadlineExceeded", err)
		}
		_, err := s.open().TryLock(t.Context(), "pool#1")
		if !errors.Is(err, redlock.ErrTaken) {
			t.Errorf("%v, want ErrTaken", err)
		}
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

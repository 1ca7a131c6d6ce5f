package redlock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

func TestAWriterIsToldOfTheReaders(t *testing.T) {
	inSim(t, 3, func(t *testing.T, s *sim) {
		c := s.open()
		a, b := s.must(c.RWMutex("key").RLock(t.Context(), redlock.WithTTL(20*time.Second))), s.must(s.open().RWMutex("key").RLock(t.Context()))
		_, err := c.RWMutex("key").TryLock(t.Context())
		wantExactly(t, err, redlock.ErrTaken)
		h, ok := errors.AsType[*redlock.Holder](err)
		if !ok || h.Readers != 2 || h.Type != "zset" || h.Token != "" || h.TTL != 20*time.Second {
			t.Errorf("the readers are described as %+v", h)
		}
		if !strings.Contains(err.Error(), "held by 2 readers for at most 20s more") {
			t.Error(err)
		}
		unlock(t, a, b)
		s.do("ZADD", "key", 1, "player")
		_, err = c.RWMutex("key").TryLock(t.Context())
		if h, ok := errors.AsType[*redlock.Holder](err); !ok || h.Readers != 0 || !strings.Contains(err.Error(), "the key is a zset, not a lock") {
			t.Errorf("somebody's sorted set is described as %+v: %v", h, err)
		}
	})
}

func TestLockingAgainUnderAReadersContextIsRefused(t *testing.T) {
	inSim(t, 3, func(t *testing.T, s *sim) {
		c := s.open()
		m := c.RWMutex("key")
		check := func(ctx context.Context, what, text string, lock func(context.Context, ...redlock.LockOption) (*redlock.Lock, error)) {
			t.Helper()
			var err error
			within(t, 0, func() { _, err = lock(ctx) })
			wantExactly(t, err, redlock.ErrReentrant)
			if err != nil && !strings.Contains(err.Error(), text) {
				t.Errorf("%s: %v: want it to say %q", what, err, text)
			}
		}
		plain := func(ctx context.Context, opts ...redlock.LockOption) (*redlock.Lock, error) {
			return c.Lock(ctx, "key", opts...)
		}
		l := s.must(c.RWMutex("key").RLock(t.Context()))
		ctx := l.Context()
		check(ctx, "upgrade", "a reader cannot become the writer", m.Lock)
		check(ctx, "upgrade of TryLock", "a reader cannot become the writer", m.TryLock)
		check(ctx, "upgrade by a plain lock", "a reader cannot become the writer", plain)
		check(ctx, "read again", "already held", m.RLock)
		check(ctx, "read again by TryRLock", "already held", m.TryRLock)
		if other, err := s.open().RWMutex("key").RLock(ctx); err != nil {
			t.Errorf("another client's reader: %v", err)
		} else {
			unlock(t, other)
		}
		unlock(t, l)

		w := s.must(m.Lock(t.Context()))
		check(w.Context(), "read what one writes", "already held", m.RLock)
		check(w.Context(), "write again", "already held", m.Lock)
		unlock(t, w)
		l, err := m.RLock(w.Context()) // it carries no hold any more, but has ended
		wantExactly(t, err, context.Canceled)
		if l != nil {
			t.Error("a lock beside an error")
		}
		s.wantClean()
	})
}

func TestAReadersHoldIsNotHandedOver(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		reader := s.must(s.open().RWMutex("key").RLock(t.Context()))
		if _, err := reader.HandOver(); err == nil || !strings.Contains(err.Error(), "unlock it") {
			t.Errorf("HandOver: %v", err)
		}
		_, err := s.open().Adopt(t.Context(), "key", reader.Token())
		wantExactly(t, err, redlock.ErrNotHeld)
		if err := reader.Verify(t.Context()); err != nil {
			t.Error(err)
		}
		unlock(t, reader)
		s.wantClean()
	})
}

// A master's clock was set back, so a reader seems to last longer than the longest TTL. It still
// counts: it is alive.
func TestNoWriterGetsInBesideAReaderWhoseMastersClocksWereSetBack(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		longest := redlock.WithMaxTTL(10 * time.Second)
		other := s.open(longest)
		reader := s.crashed("key", 10*time.Second)
		for _, m := range s.All {
			m.SetClockOffset(-100 * time.Millisecond)
		}
		beside := s.must(other.RWMutex("key").RLock(t.Context(), redlock.WithTTL(time.Second))) // its script checks the set of readers
		unlock(t, beside)
		_, err := other.TryLock(t.Context(), "key")
		wantExactly(t, err, redlock.ErrTaken)
		if n := s.readingOn("key", reader); n != 5 {
			t.Errorf("the reader is in on %d masters", n)
		}
		time.Sleep(9900 * time.Millisecond)
		_, err = other.TryLock(t.Context(), "key")
		wantExactly(t, err, redlock.ErrTaken)
		time.Sleep(100*time.Millisecond + lastMoment)
		unlock(t, mustLock(t, other, "key"))
		s.wantClean()
	})
}

// A reader crashed before the masters' clocks were set back. It keeps writers out for the longest
// TTL, not for the time of the step.
func TestAReaderThatCrashedIsOutAfterTheLongestTTLThoughClocksWereSetBack(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		longest := redlock.WithMaxTTL(10 * time.Second)
		s.crashed("key", 10*time.Second)
		for _, m := range s.All {
			m.SetClockOffset(-time.Hour)
		}
		c := s.open(longest)
		unlock(t, s.must(c.RWMutex("key").RLock(t.Context(), redlock.WithTTL(time.Second))))
		within(t, 10*time.Second+10*time.Millisecond, func() { unlock(t, mustLock(t, c, "key")) })
		s.wantClean()
	})
}

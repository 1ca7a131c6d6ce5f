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
		h, ok := errors.AsType[*redlock.HeldError](err)
		if !ok || h.Readers != 2 || h.Type != "zset" || h.Token != "" || h.TTL != 20*time.Second {
			t.Errorf("the readers are described as %+v", h)
		}
		if !strings.Contains(err.Error(), "held by 2 readers for at most 20s more") {
			t.Error(err)
		}
		unlock(t, a, b)
		s.do("ZADD", "key", 1, "player")
		_, err = c.RWMutex("key").TryLock(t.Context())
		if h, ok := errors.AsType[*redlock.HeldError](err); !ok || h.Readers != 0 || !strings.Contains(err.Error(), "the key is a zset, not a lock") {
			t.Errorf("somebody's sorted set is described as %+v: %v", h, err)
		}
	})
}

// A reader that crashed stands in the way for its own TTL, not for that of
// others, be they still in or gone.
func TestACrashedReaderIsOutAtItsExpiry(t *testing.T) {
	t.Parallel()
	t.Run("others have left", func(t *testing.T) {
		inSim(t, 5, func(t *testing.T, s *sim) {
			c, other := s.open(), s.open()
			long := s.must(c.RWMutex("key").RLock(t.Context(), redlock.WithLease(time.Minute)))
			crash(t, s.must(other.RWMutex("key").RLock(t.Context(), redlock.WithTTL(5*time.Second))))
			unlock(t, long)
			began := time.Now()
			l := mustLock(t, c, "key") // which no script of readers serves
			if d := time.Since(began); d < 5*time.Second || d > 5250*time.Millisecond {
				t.Errorf("a writer got in after %v: want after the crashed reader's 5s", d)
			}
			unlock(t, l)
			s.wantClean()
		})
	})
	t.Run("others stay", func(t *testing.T) {
		inSim(t, 5, func(t *testing.T, s *sim) {
			c := s.open()
			stays := s.must(c.RWMutex("key").RLock(t.Context()))
			crashed := s.must(c.RWMutex("key").RLock(t.Context(), redlock.WithTTL(time.Second)))
			crash(t, crashed)
			time.Sleep(time.Minute)
			if n := s.readingOn("key", crashed.Token()); n != 0 {
				t.Errorf("a crashed reader is still on %d masters", n)
			}
			_, err := c.RWMutex("key").TryLock(t.Context())
			wantExactly(t, err, redlock.ErrTaken)
			unlock(t, stays)
			s.wantClean()
		})
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
		if err := w.Downgrade(t.Context()); err != nil {
			t.Fatal(err)
		}
		check(w.Context(), "upgrade after a downgrade", "a reader cannot become the writer", m.Lock)
		unlock(t, w)
		l, err := m.RLock(w.Context()) // which carries no hold any more, but is over
		wantExactly(t, err, context.Canceled)
		if l != nil {
			t.Error("a lock beside an error")
		}
		s.wantClean()
	})
}

func TestRAdoptTakesOverAReader(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		giver, taker := s.open(), s.open()
		l := s.must(giver.RWMutex("key").RLock(t.Context()))
		token, err := l.HandOver()
		if err != nil {
			t.Fatal(err)
		}
		_ = giver.Close()
		_, err = taker.Adopt(t.Context(), "key", token) // not a writer's
		wantExactly(t, err, redlock.ErrNotHeld)
		m := taker.RWMutex("key")
		l, err = m.RAdopt(t.Context(), token)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if err := l.Verify(t.Context()); err != nil {
			t.Errorf("the adopted reader was not renewed: %v", err)
		}
		unlock(t, l)
		_, err = m.RAdopt(t.Context(), token)
		wantExactly(t, err, redlock.ErrNotHeld)
		s.wantClean()

		w := mustLock(t, taker, "key")
		_, err = m.RAdopt(t.Context(), w.Token()) // a writer's: it would not know
		wantExactly(t, err, redlock.ErrNotHeld)
		if n := s.holders("key", w.Token()); n != 5 {
			t.Errorf("the writer is left on %d masters", n)
		}
		unlock(t, w)
	})
}

// A lock of several keys is the writer of each.
func TestALockOfSeveralKeysIsAWriter(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open()
		reader := s.must(c.RWMutex("a").RLock(t.Context()))
		_, err := c.TryLockAll(t.Context(), []string{"a", "b"})
		wantExactly(t, err, redlock.ErrTaken)
		if h, ok := errors.AsType[*redlock.HeldError](err); !ok || h.Key != "a" || h.Readers != 1 {
			t.Errorf("what is in the way is described as %+v", h)
		}
		some, err := c.TryLockAny(t.Context(), []string{"a", "b"})
		if err != nil || some.Key() != "b" {
			t.Fatalf("%v, %v", some, err)
		}
		unlock(t, some)
		_, err = c.LockAll(reader.Context(), []string{"a", "b"})
		wantExactly(t, err, redlock.ErrReentrant)
		unlock(t, reader)

		all := s.must(c.TryLockAll(t.Context(), []string{"a", "b"}))
		if err := all.Downgrade(t.Context()); err == nil || !strings.Contains(err.Error(), "only the lock of one key") {
			t.Errorf("downgrade of two keys: %v", err)
		}
		if err := all.Verify(t.Context()); err != nil {
			t.Error(err)
		}
		unlock(t, all)

		one := s.must(c.TryLockAny(t.Context(), []string{"a", "b"}))
		if err := one.Downgrade(t.Context()); err != nil {
			t.Error(err)
		}
		unlock(t, s.must(c.RWMutex(one.Key()).RLock(t.Context())), one)
		s.wantClean()
	})
}

// A reader whose time, by a clock that was set back since, ends after the longest
// TTL is believed all the same: it is alive.
func TestNoWriterGetsInBesideAReaderWhoseMastersClocksWereSetBack(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		longest := redlock.WithMaxTTL(10 * time.Second)
		c, other := s.open(longest), s.open(longest)
		reader := s.must(c.RWMutex("key").RLock(t.Context(), redlock.WithTTL(10*time.Second)))
		for _, m := range s.All {
			m.SetClockOffset(-100 * time.Millisecond)
		}
		beside := s.must(other.RWMutex("key").RLock(t.Context(), redlock.WithTTL(time.Second))) // its script judges the set
		unlock(t, beside)
		_, err := other.TryLock(t.Context(), "key")
		wantExactly(t, err, redlock.ErrTaken)
		if n := s.readingOn("key", reader.Token()); n != 5 {
			t.Errorf("the reader is in on %d masters", n)
		}
		crash(t, reader)
		time.Sleep(9900 * time.Millisecond)
		_, err = other.TryLock(t.Context(), "key")
		wantExactly(t, err, redlock.ErrTaken)
		time.Sleep(100*time.Millisecond + lastMoment)
		unlock(t, mustLock(t, other, "key"))
		s.wantClean()
	})
}

// A reader that crashed before the masters' clocks were set back keeps writers out
// for the longest TTL, and not for as long as the step.
func TestAReaderThatCrashedIsOutAfterTheLongestTTLThoughClocksWereSetBack(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		longest := redlock.WithMaxTTL(10 * time.Second)
		crash(t, s.must(s.open(longest).RWMutex("key").RLock(t.Context(), redlock.WithTTL(10*time.Second))))
		for _, m := range s.All {
			m.SetClockOffset(-time.Hour)
		}
		c := s.open(longest)
		unlock(t, s.must(c.RWMutex("key").RLock(t.Context(), redlock.WithTTL(time.Second))))
		within(t, 10*time.Second+10*time.Millisecond, func() { unlock(t, mustLock(t, c, "key")) })
		s.wantClean()
	})
}

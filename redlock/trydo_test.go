package redlock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

func TestTryDoRunsUnderTheLockAndReleasesIt(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open()
		ran := 0
		for range 2 { // what one run leaves behind does not keep out the next
			err := c.TryDo(t.Context(), "key", func(ctx context.Context) error {
				ran++
				if l, ok := redlock.FromContext(ctx); !ok || s.holders("key", l.Token()) < 3 {
					t.Error("the lock is not held in fn")
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		}
		if ran != 2 {
			t.Errorf("fn ran %d times, want 2", ran)
		}
		s.wantClean()
	})
}

func TestTryDoSkipsItsFunctionWhileTheKeyIsTaken(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		var once []bool
		retries := 0
		c := s.open(redlock.WithTrace(&redlock.Trace{
			Begin: func(ctx context.Context, i redlock.BeginInfo) context.Context {
				once = append(once, i.Once)
				return ctx
			},
			Retry: func(redlock.RetryInfo) { retries++ },
		}))
		held := mustLock(t, s.open(), "key")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second) // for a TryDo that waits
		defer cancel()
		began := time.Now()
		err := c.TryDo(ctx, "key", func(context.Context) error {
			t.Error("fn ran beside the holder")
			return nil
		})
		wantExactly(t, err, redlock.ErrTaken)
		if took := time.Since(began); took > soon || retries != 0 {
			t.Errorf("it waited for %v, with %d retries", took, retries)
		}
		if len(once) != 1 || !once[0] {
			t.Errorf("told as %v, want one call that makes one attempt", once)
		}
		if n := s.holders("key", held.Token()); n < 3 {
			t.Errorf("the holder has %d masters left", n)
		}
		unlock(t, held)
		s.wantClean()
	})
}

func TestTryDoDoesNotWaitForAnOutageToEnd(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open()
		s.kill(0, 1, 2)
		began := time.Now()
		err := c.TryDo(t.Context(), "key", func(context.Context) error {
			t.Error("fn ran without a quorum")
			return nil
		})
		wantExactly(t, err, redlock.ErrNoQuorum)
		if took := time.Since(began); took >= 500*time.Millisecond {
			t.Errorf("it waited for %v", took)
		}
	})
}

// The caller skips on ErrTaken, because then fn has not run: what fn brings back
// must not look like that.
func TestTryDoHidesThatItsFunctionFoundAnotherLockTaken(t *testing.T) {
	inSim(t, 3, func(t *testing.T, s *sim) {
		c := s.open()
		mustLock(t, s.open(), "inner")
		ran := false
		err := c.TryDo(t.Context(), "outer", func(ctx context.Context) error {
			ran = true
			return c.TryDo(ctx, "inner", func(context.Context) error { return nil })
		})
		if err == nil || !ran {
			t.Fatalf("got %v, ran: %v", err, ran)
		}
		if errors.Is(err, redlock.ErrTaken) {
			t.Errorf("%v matches ErrTaken though fn ran", err)
		}
	})
}

func TestTryDoOfAKeyThatTheContextHoldsIsReentrant(t *testing.T) {
	inSim(t, 3, func(t *testing.T, s *sim) {
		c := s.open()
		nested := func(opts ...redlock.LockOption) (ran bool, err error) {
			err = c.Do(t.Context(), "key", func(ctx context.Context) error {
				return c.TryDo(ctx, "key", func(context.Context) error { ran = true; return nil }, opts...)
			})
			return ran, err
		}
		ran, err := nested()
		wantExactly(t, err, redlock.ErrReentrant)
		if ran {
			t.Error("fn ran under a hold that it did not share")
		}
		if ran, err := nested(redlock.WithReentrancy()); err != nil || !ran {
			t.Errorf("with reentrancy: %v, ran: %v", err, ran)
		}
		s.wantClean()
	})
}

func TestTryDoNeedsAFunction(t *testing.T) {
	inSim(t, 3, func(t *testing.T, s *sim) {
		if err := s.open().TryDo(t.Context(), "key", nil); err == nil {
			t.Error("no error")
		}
		s.wantClean()
	})
}

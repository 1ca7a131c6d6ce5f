package redlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

func TestTryDoSkipsItsFunctionWhileTheKeyIsTaken(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		var once []bool
		retries := 0
		c := s.open(redlock.WithTrace(&redlock.Trace{
			Begin: func(ctx context.Context, i redlock.BeginInfo) context.Context {
				once = append(once, i.Once)
				return ctx
			},
			Retry: func(redlock.AttemptInfo) { retries++ },
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

package redlock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// Every way to wait ends after the time given, as if its context had ended, and says whether
// the lock is taken or there is no quorum. The caller's own context has not ended.
func TestWithWaitBoundsTheWaitingOfAllKinds(t *testing.T) {
	inSim(t, 3, func(t *testing.T, s *sim) {
		holder, c := s.open(), s.open(redlock.WithWait(200*time.Millisecond))
		for _, key := range ab {
			mustLock(t, holder, key)
		}
		ways := map[string][]redlock.LockOption{"it queues": nil, "it polls": {redlock.WithTries(1_000_000)}, "it is fair": {redlock.WithFairness()}}
		for _, k := range kinds {
			for way, opts := range ways {
				for _, wait := range []time.Duration{0, 3 * time.Second} {
					want := 200 * time.Millisecond // the client's
					if wait > 0 {
						opts, want = append(opts, redlock.WithWait(wait)), wait
					}
					began := time.Now()
					_, err := k.lock(c, t.Context(), ab, opts...)
					if !errors.Is(err, redlock.ErrTaken) || !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("%s, %s: %v, want ErrTaken and DeadlineExceeded", k.name, way, err)
					}
					if took := time.Since(began); took < want || took > want+time.Second {
						t.Errorf("%s, %s: it took %v, want %v", k.name, way, took, want)
					}
				}
			}
		}
		s.Kill(0, 1)
		_, err := c.Lock(t.Context(), ab[0])
		if !errors.Is(err, redlock.ErrNoQuorum) || !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, redlock.ErrTaken) {
			t.Errorf("%v, want ErrNoQuorum and DeadlineExceeded", err)
		}
	})
}

// The work and the holding go on for longer than the wait.
func TestWithWaitBoundsNeitherWorkNorHolding(t *testing.T) {
	inSim(t, 3, func(t *testing.T, s *sim) {
		c := s.open(redlock.WithTTL(time.Second))
		err := c.Do(t.Context(), "key", func(ctx context.Context) error {
			time.Sleep(time.Minute)
			return ctx.Err()
		}, redlock.WithWait(time.Millisecond))
		if err != nil {
			t.Error(err)
		}
		l := mustLock(t, c, "key", redlock.WithWait(time.Millisecond))
		time.Sleep(time.Minute)
		if l.Context().Err() != nil || l.Remaining() == 0 {
			t.Error("the lock has ended with the wait")
		}
		unlock(t, l)
	})
}

func TestTryLockAndTryDoIgnoreWithWait(t *testing.T) {
	inSim(t, 3, func(t *testing.T, s *sim) {
		mustLock(t, s.open(), "key")
		c := s.open(redlock.WithWait(time.Minute))
		within(t, time.Second, func() {
			if _, err := c.TryLock(t.Context(), "key"); !errors.Is(err, redlock.ErrTaken) || errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("TryLock: %v, want ErrTaken alone", err)
			}
			err := c.TryDo(t.Context(), "key", func(context.Context) error { return nil })
			if !errors.Is(err, redlock.ErrTaken) || errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("TryDo: %v, want ErrTaken alone", err)
			}
		})
	})
}

package redlock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// Every way to wait ends after the time given, as if its context had ended, and says whether
// the lock is taken or there is no quorum. The caller's own context has not ended.
func TestWithWaitBoundsTheWaitingOfAllKinds(t *testing.T) {
	inSim(t, 3, func(t *testing.T, s *sim) {
		holder, c := s.open(), s.open(redlock.WithWait(200*time.Millisecond))
		for _, key := range []string{"key", "one", "two"} {
			mustLock(t, holder, key)
		}
		kinds := map[string]func(opts ...redlock.LockOption) (*redlock.Lock, error){
			"Lock": func(opts ...redlock.LockOption) (*redlock.Lock, error) { return c.Lock(t.Context(), "key", opts...) },
			"polling": func(opts ...redlock.LockOption) (*redlock.Lock, error) {
				return c.Lock(t.Context(), "key", append(opts, redlock.WithTries(1_000_000))...)
			},
			"fair": func(opts ...redlock.LockOption) (*redlock.Lock, error) {
				return c.Lock(t.Context(), "key", append(opts, redlock.WithFairness())...)
			},
			"LockAll": func(opts ...redlock.LockOption) (*redlock.Lock, error) {
				return c.LockAll(t.Context(), []string{"key", "free"}, opts...)
			},
			"LockAny": func(opts ...redlock.LockOption) (*redlock.Lock, error) {
				return c.LockAny(t.Context(), []string{"one", "two"}, opts...)
			},
			"RLock": func(opts ...redlock.LockOption) (*redlock.Lock, error) {
				return c.RWMutex("key").RLock(t.Context(), opts...)
			},
			"writer": func(opts ...redlock.LockOption) (*redlock.Lock, error) {
				return c.RWMutex("key").Lock(t.Context(), opts...)
			},
		}
		for name, lock := range kinds {
			for _, wait := range []time.Duration{0, 3 * time.Second} {
				var opts []redlock.LockOption
				want := 200 * time.Millisecond // the client's
				if wait > 0 {
					opts, want = append(opts, redlock.WithWait(wait)), wait
				}
				began := time.Now()
				_, err := lock(opts...)
				if !errors.Is(err, redlock.ErrTaken) || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%s: %v, want ErrTaken and DeadlineExceeded", name, err)
				}
				if took := time.Since(began); took < want || took > want+time.Second {
					t.Errorf("%s: it took %v, want %v", name, took, want)
				}
			}
		}
		s.Kill(0, 1)
		_, err := c.Lock(t.Context(), "key")
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

func TestWithWaitNamesItsRange(t *testing.T) {
	for _, d := range []time.Duration{-1, 0, time.Millisecond - 1, 24*time.Hour + 1} {
		_, err := redlock.Open([]string{"redis://127.0.0.1:1"}, redlock.WithWait(d))
		if err == nil || !strings.Contains(err.Error(), "WithWait: "+d.String()+": want 1ms to 24h0m0s") {
			t.Errorf("%v: %v", d, err)
		}
	}
}

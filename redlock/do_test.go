package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

var errWork = errors.New("the work failed")

// dos are the calls that run a function under a lock.
var dos = map[string]func(c *redlock.Client, ctx context.Context, key string, fn func(context.Context) error, opts ...redlock.LockOption) error{
	"Do": (*redlock.Client).Do, "TryDo": (*redlock.Client).TryDo,
}

func TestDoRunsUnderTheLockAndReleasesIt(t *testing.T) {
	inCleanSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open()
		type caller struct{}
		ctx := context.WithValue(t.Context(), caller{}, "the caller's value")
		for _, result := range []error{nil, errWork} {
			for name, do := range dos {
				ran := false
				err := do(c, ctx, "key", func(ctx context.Context) error {
					ran = true
					l, ok := redlock.FromContext(ctx)
					if !ok || l.Key() != "key" || l.Remaining() <= 0 || s.holding("key", l.Token()) < 3 {
						t.Error("the lock is not held in fn")
					}
					if ctx.Value(caller{}) != "the caller's value" {
						t.Error("the caller's values do not reach fn")
					}
					return result
				})
				if !ran || !errors.Is(err, result) || result == nil && err != nil {
					t.Errorf("%s ran it: %v, error %v: want %v", name, ran, err, result)
				}
				s.wantFree("key") // so it does not keep out the next
			}
		}
	})
}

// A caller may try again on ErrTaken and ErrNoQuorum, because fn has not run then. So an error that
// fn returns must not match them.
func TestDoHidesTheKindOfAnInnerAcquisition(t *testing.T) {
	inCleanSim(t, 5, func(t *testing.T, s *sim) {
		c, other := s.open(), s.open()
		inner := s.lock(other, "inner")
		for _, join := range []error{nil, context.Canceled} {
			for _, do := range dos {
				err := do(c, t.Context(), "outer", func(ctx context.Context) error {
					_, err := c.TryLock(ctx, "inner")
					wantExactly(t, err, redlock.ErrTaken)
					if join != nil {
						err = fmt.Errorf("%w, and %w", err, join)
					}
					return err
				})
				if join == nil {
					wantExactly(t, err)
				} else {
					wantExactly(t, err, join)
				}
				if q, ok := errors.AsType[*redlock.QuorumError](err); !ok || q.Key != "inner" {
					t.Errorf("%v has lost its facts", err)
				}
			}
		}
		ran := false
		err := c.Do(t.Context(), "inner", func(context.Context) error { ran = true; return nil }, redlock.WithTries(1))
		wantExactly(t, err, redlock.ErrTaken)
		if ran {
			t.Error("fn ran without the lock")
		}
		unlock(t, inner)
		s.wantFree("inner")
		s.wantFree("outer")
	})
}

// A majority of the keys is deleted or taken while the function runs. Do reports that, whatever the
// function returns and whether or not it has noticed.
func TestDoSaysThatTheLockWasLostEvenIfTheFunctionSucceeds(t *testing.T) {
	renewed := []redlock.LockOption{redlock.WithTTL(20 * time.Second), redlock.WithRenewal(redlock.Renewal{Every: 400 * time.Millisecond})}
	lease := []redlock.LockOption{redlock.WithLease(time.Minute)}
	for _, test := range []struct {
		name    string
		opts    []redlock.LockOption
		notices bool // the function waits for its context to end
		taken   bool // afterwards somebody else has the keys
		result  error
	}{
		{"noticed, nil", renewed, true, false, nil},
		{"noticed, error", renewed, true, true, errWork},
		{"unnoticed, nil", lease, false, false, nil},
		{"unnoticed, taken, nil", lease, false, true, nil},
		{"unnoticed, error", lease, false, false, errWork},
		{"expired, nil", []redlock.LockOption{redlock.WithLease(500 * time.Millisecond)}, true, false, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			inUnguardedCleanSim(t, 5, func(t *testing.T, s *sim) {
				c := s.open()
				err := c.Do(t.Context(), "key", func(ctx context.Context) error {
					l, _ := redlock.FromContext(ctx)
					s.atOnce("all have the key", func() bool { return s.holding("key", l.Token()) == 5 })
					// All keys go, so that a renewal in between cannot repair a majority.
					if test.taken {
						s.foreign("key", 0, 1, 2, 3, 4)
					} else {
						s.do("DEL", "key")
					}
					if test.notices {
						<-ctx.Done()
						wantExactly(t, context.Cause(ctx), redlock.ErrLost)
					}
					return test.result
				}, test.opts...)
				wantExactly(t, err, redlock.ErrLost)
				if test.result != nil && !errors.Is(err, test.result) {
					t.Errorf("%v does not have fn's error", err)
				}
				if _, ok := errors.AsType[*redlock.LostError](err); !ok {
					t.Errorf("%v is no *LostError", err)
				}
				if test.taken && s.holding("key", stranger) != 5 {
					t.Error("the stranger's keys were touched")
				}
				s.do("DEL", "key")
			})
		})
	}
}

func TestDoEndsTheContextOfItsFunctionWithTheCallers(t *testing.T) {
	inCleanSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open()
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("the caller's reason")
		err := c.Do(ctx, "key", func(inner context.Context) error {
			cancel(why)
			<-inner.Done()
			synctest.Wait()
			if cause := context.Cause(inner); !errors.Is(cause, why) {
				t.Errorf("the cause is %v, want the caller's", cause)
			}
			if l, _ := redlock.FromContext(inner); l.Context().Err() != nil {
				t.Errorf("the caller's context ended the lock: %v", context.Cause(l.Context()))
			}
			return inner.Err()
		})
		wantExactly(t, err, context.Canceled)
		s.wantFree("key")
	})
}

func TestDoUnlocksAfterAPanicAndGoexit(t *testing.T) {
	inCleanSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open()
		func() {
			defer func() {
				if p := recover(); p != "boom" {
					t.Errorf("recovered %v", p)
				}
			}()
			_ = c.Do(t.Context(), "key", func(context.Context) error { panic("boom") }, redlock.WithTTL(time.Minute))
			t.Error("the panic was swallowed")
		}()
		s.wantFree("key")

		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = c.Do(t.Context(), "key", func(context.Context) error { runtime.Goexit(); return nil }, redlock.WithTTL(time.Minute))
			t.Error("Goexit was swallowed")
		}()
		<-ended
		s.wantFree("key")
		unlock(t, s.lock(c, "key"))
		s.wantFree("key")
	})
}

// The work is done and the key will expire: an error would make the caller repeat the work. Masters
// get the release when they answer again.
func TestAReleaseThatCouldNotBeConfirmedIsNoErrorOfDo(t *testing.T) {
	inUnguardedCleanSim(t, 5, func(t *testing.T, s *sim) {
		var traced error
		c := s.open(redlock.WithTrace(&redlock.Trace{Unlock: func(i redlock.UnlockInfo) { traced = i.Err }}))
		err := c.Do(t.Context(), "key", func(ctx context.Context) error {
			l, _ := redlock.FromContext(ctx)
			s.atOnce("all have the key", func() bool { return s.holding("key", l.Token()) == 5 })
			s.Kill(0, 1, 2)
			return nil
		}, redlock.WithTTL(time.Minute))
		if err != nil {
			t.Error(err)
		}
		wantExactly(t, traced, redlock.ErrNoQuorum)
		s.Restart(true, 0, 1, 2)
		s.eventually("all have released it", func() bool { return len(s.keys()) == 0 })
	})
}

func TestLockingAgainWhatTheContextHoldsIsRefused(t *testing.T) {
	inCleanSim(t, 5, func(t *testing.T, s *sim) {
		c, other := s.open(), s.open()
		l := s.lock(c, "key")
		bound, cancel := l.WithContext(t.Context())
		defer cancel()
		fn := func(context.Context) error { t.Error("fn ran"); return nil }
		refused := func(ctx context.Context) {
			within(t, 0, func() {
				_, err := c.Lock(ctx, "key")
				wantExactly(t, err, redlock.ErrReentrant)
			})
			_, err := c.TryLock(ctx, "key")
			wantExactly(t, err, redlock.ErrReentrant)
			wantExactly(t, c.Do(ctx, "key", fn), redlock.ErrReentrant)
			wantExactly(t, c.TryDo(ctx, "key", fn), redlock.ErrReentrant)
			wantExactly(t, c.Lead(ctx, "key", fn), redlock.ErrReentrant)
			_, err = other.TryLock(ctx, "key") // another client has no share in the hold
			wantExactly(t, err, redlock.ErrTaken)
			if found, ok := redlock.FromContext(ctx); !ok || found.Key() != "key" && found.Key() != "another" {
				t.Errorf("FromContext: %v, %v", found, ok)
			}
		}
		for _, ctx := range []context.Context{l.Context(), bound} {
			refused(ctx)
			if found, _ := redlock.FromContext(ctx); found != l {
				t.Errorf("FromContext does not find the lock: %v", found)
			}
			// The same holds further inside.
			if err := c.Do(ctx, "another", func(ctx context.Context) error { refused(ctx); return nil }); err != nil {
				t.Error(err)
			}
		}
		unlock(t, l)
		s.wantFree("another")
		// A hold that has ended keeps nobody out.
		unlock(t, s.must(c.Lock(context.WithoutCancel(bound), "key")))
	})
}

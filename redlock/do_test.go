package redlock_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

func TestDoRunsUnderTheLockAndReleasesIt(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open()
		ran := false
		err := c.Do(t.Context(), "key", func(ctx context.Context) error {
			ran = true
			l, ok := redlock.FromContext(ctx)
			if !ok || l.Key() != "key" || s.holders("key", l.Token()) < 3 {
				t.Error("the lock is not held in fn")
			}
			return nil
		})
		if err != nil || !ran {
			t.Error(err, ran)
		}
		s.wantClean()
	})
}

func TestDoReturnsWhatTheFunctionReturns(t *testing.T) {
	inSim(t, 3, func(t *testing.T, s *sim) {
		boom := errors.New("boom")
		if err := s.open().Do(t.Context(), "key", func(context.Context) error { return boom }); !errors.Is(err, boom) {
			t.Errorf("got %v", err)
		}
	})
}

// A caller may try again on ErrTaken and ErrNoQuorum, because then fn has not
// run: what fn brings back must not look like that.
func TestDoHidesTheKindOfAnInnerAcquisition(t *testing.T) {
	inSim(t, 3, func(t *testing.T, s *sim) {
		c := s.open()
		mustLock(t, s.open(), "inner")
		err := c.Do(t.Context(), "outer", func(ctx context.Context) error {
			_, err := c.TryLock(ctx, "inner")
			wantExactly(t, err, redlock.ErrTaken)
			return errors.Join(err, context.Canceled)
		})
		wantExactly(t, err, context.Canceled)
		if _, ok := errors.AsType[*redlock.QuorumError](err); !ok {
			t.Errorf("%v has lost its facts", err)
		}
		ran := false
		err = c.Do(t.Context(), "inner", func(context.Context) error { ran = true; return nil }, redlock.WithTries(1))
		wantExactly(t, err, redlock.ErrTaken)
		if ran {
			t.Error("fn ran without the lock")
		}
	})
}

func TestDoSaysThatTheLockWasLostEvenIfTheFunctionSucceeds(t *testing.T) {
	lose := func(s *sim, ctx context.Context) {
		for _, m := range s.masters {
			m.FlushAll()
		}
		<-ctx.Done()
	}
	inUnguardedSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open()
		err := c.Do(t.Context(), "key", func(ctx context.Context) error {
			lose(s, ctx)
			wantExactly(t, context.Cause(ctx), redlock.ErrLost)
			return nil
		})
		wantExactly(t, err, redlock.ErrLost)
		boom := errors.New("boom")
		err = c.Do(t.Context(), "key", func(ctx context.Context) error {
			lose(s, ctx)
			return boom
		})
		wantExactly(t, err, redlock.ErrLost)
		if !errors.Is(err, boom) {
			t.Errorf("%v does not have fn's error", err)
		}
		// Lost, and nobody has noticed when fn returns.
		err = c.Do(t.Context(), "key", func(context.Context) error {
			for _, m := range s.masters {
				m.FlushAll()
			}
			return nil
		})
		wantExactly(t, err, redlock.ErrLost)
	})
}

func TestDoUnlocksUnderACancelledCallerAPanicAndGoexit(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open()
		ctx, cancel := context.WithCancel(t.Context())
		err := c.Do(ctx, "key", func(inner context.Context) error {
			cancel()
			<-inner.Done()
			return inner.Err()
		})
		wantExactly(t, err, context.Canceled)
		s.wantClean()

		func() {
			defer func() {
				if p := recover(); p != "boom" {
					t.Errorf("recovered %v", p)
				}
			}()
			_ = c.Do(t.Context(), "key", func(context.Context) error { panic("boom") })
		}()
		s.wantClean()

		var wg sync.WaitGroup
		wg.Go(func() {
			_ = c.Do(t.Context(), "key", func(context.Context) error { runtime.Goexit(); return nil })
		})
		wg.Wait()
		s.wantClean()
	})
}

// The work is done and the key will expire: an error would make the caller do
// it again.
func TestAReleaseThatCouldNotBeConfirmedIsNoErrorOfDo(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		var traced error
		c := s.open(redlock.WithTrace(&redlock.Trace{Unlock: func(i redlock.UnlockInfo) { traced = i.Err }}))
		err := c.Do(t.Context(), "key", func(context.Context) error {
			s.freeze(0, 1, 2)
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		wantExactly(t, traced, redlock.ErrNoQuorum)
		s.thaw(0, 1, 2)
		s.wantClean()
	})
}

func TestLockingAgainWhatTheContextHoldsIsRefused(t *testing.T) {
	inSim(t, 3, func(t *testing.T, s *sim) {
		c := s.open()
		err := c.Do(t.Context(), "key", func(ctx context.Context) error {
			within(t, 0, func() {
				_, err := c.Lock(ctx, "key")
				wantExactly(t, err, redlock.ErrReentrant)
			})
			return c.Do(ctx, "other", func(ctx context.Context) error {
				_, err := c.TryLock(ctx, "key") // also from further inside
				wantExactly(t, err, redlock.ErrReentrant)
				_, err = s.open().TryLock(ctx, "key") // another client is somebody else
				wantExactly(t, err, redlock.ErrTaken)
				return nil
			})
		})
		if err != nil {
			t.Error(err)
		}
		l := mustLock(t, c, "key")
		ctx := l.Context()
		if err := l.Unlock(t.Context()); err != nil {
			t.Error(err)
		}
		// A hold that is over is in nobody's way.
		l, err = c.Lock(context.WithoutCancel(ctx), "key")
		if err != nil {
			t.Fatal(err)
		}
		_ = l.Unlock(t.Context())
	})
}

func TestCloseEndsContextsWaitsForDoAndUnlocks(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open()
		plain := mustLock(t, c, "plain")
		plainCtx := plain.Context()
		finished := false
		var doErr error
		var wg sync.WaitGroup
		started := make(chan struct{})
		wg.Go(func() {
			doErr = c.Do(t.Context(), "in-do", func(ctx context.Context) error {
				close(started)
				<-ctx.Done()
				time.Sleep(time.Second) // tidying up
				if n := len(s.leftovers()); n == 0 {
					t.Error("released while fn was still running")
				}
				finished = true
				return nil
			})
		})
		<-started
		took := within(t, 1100*time.Millisecond, func() {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		})
		if !finished || took < time.Second {
			t.Errorf("Close did not wait for Do: %v", took)
		}
		wg.Wait()
		wantExactly(t, doErr, redlock.ErrLost, redlock.ErrClosed)
		wantExactly(t, context.Cause(plainCtx), redlock.ErrLost, redlock.ErrClosed)
		wantReason(t, context.Cause(plainCtx), redlock.ReasonClosed)
		s.wantClean()
		wantExactly(t, plain.Unlock(t.Context()), redlock.ErrNotHeld, redlock.ErrLost, redlock.ErrClosed)
		wantExactly(t, plain.Extend(t.Context()), redlock.ErrNotHeld, redlock.ErrLost, redlock.ErrClosed)
		_, err := c.Lock(t.Context(), "key")
		wantExactly(t, err, redlock.ErrClosed)
		_, err = c.Adopt(t.Context(), "key", "token")
		wantExactly(t, err, redlock.ErrClosed)
		wantExactly(t, c.Ready(t.Context()), redlock.ErrClosed)
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestCloseWaitsForAStubbornDoOnlyWhileItsLockIsValid(t *testing.T) {
	inSim(t, 3, func(t *testing.T, s *sim) {
		c := s.open()
		started, stop := make(chan struct{}), make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			_ = c.Do(t.Context(), "key", func(context.Context) error {
				close(started)
				<-stop
				return nil
			}, redlock.WithTTL(2*time.Second))
		})
		<-started
		took := within(t, 2*time.Second, func() { _ = c.Close() })
		if took < time.Second {
			t.Errorf("Close waited for %v only", took)
		}
		close(stop)
		wg.Wait()
	})
}

func TestCloseEndsCallsThatWait(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		mustLock(t, s.open(), "key")
		c := s.open()
		var err error
		var wg sync.WaitGroup
		wg.Go(func() { _, err = c.Lock(t.Context(), "key") })
		time.Sleep(time.Second)
		_ = c.Close()
		wg.Wait()
		wantExactly(t, err, redlock.ErrClosed)
	})
}

func TestCloseIsBoundedWhenMastersHang(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open()
		for range 10 {
			mustLock(t, c, "key-"+time.Now().String())
			time.Sleep(time.Millisecond)
		}
		s.freeze(0, 1, 2, 3, 4)
		within(t, 250*time.Millisecond, func() { _ = c.Close() })
		s.thaw(0, 1, 2, 3, 4)
	})
}

// What a failed attempt left to roll back is still sent when the program stops
// right after it.
func TestCloseLetsRollbacksOut(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open()
		for i := range 3 {
			_ = s.masters[i].Set("key", "other", time.Hour)
		}
		_, err := c.TryLock(t.Context(), "key")
		wantExactly(t, err, redlock.ErrTaken)
		_ = c.Close()
		synctest.Wait()
		if n := len(s.leftovers()); n != 3 {
			t.Errorf("keys left: %q", s.leftovers())
		}
	})
}

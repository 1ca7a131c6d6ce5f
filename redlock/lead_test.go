package redlock_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// leading runs Lead in the background. The channel gets its error.
func leading(ctx context.Context, c *redlock.Client, lead func(ctx context.Context) error, opts ...redlock.LockOption) chan error {
	done := make(chan error, 1)
	go func() { done <- c.Lead(ctx, "key", lead, opts...) }()
	return done
}

func TestALeaderThatReturnsStepsDownAndLeadReturnsItsError(t *testing.T) {
	inSim(t, 3, func(t *testing.T, s *sim) {
		c := s.open()
		broken := errors.New("broken")
		for _, want := range []error{nil, broken, redlock.ErrTaken} {
			err := c.Lead(t.Context(), "key", func(ctx context.Context) error {
				if l, ok := redlock.FromContext(ctx); !ok || l.Key() != "key" || l.Remaining() == 0 {
					t.Error("it leads without the lock")
				}
				return want
			})
			if (err == nil) != (want == nil) || errors.Is(err, broken) != errors.Is(want, broken) {
				t.Errorf("%v, want %v", err, want)
			}
			if errors.Is(err, redlock.ErrTaken) {
				t.Error("the error of lead looks like one of the acquisition")
			}
		}
		s.wantClean()
	})
}

// The first leader loses its lock. Lead waits until it has returned, and leads again.
func TestALossMakesLeadStartOverOnceLeadHasReturned(t *testing.T) {
	inSim(t, 3, func(t *testing.T, s *sim) {
		c := s.open(redlock.WithTTL(time.Second))
		var mu sync.Mutex
		running, most, rounds := 0, 0, 0
		done := leading(t.Context(), c, func(ctx context.Context) error {
			mu.Lock()
			rounds++
			running++
			most = max(most, running)
			last := rounds == 3
			mu.Unlock()
			defer func() {
				mu.Lock()
				running--
				mu.Unlock()
			}()
			if last {
				return nil
			}
			s.do("DEL", "key")
			<-ctx.Done()
			time.Sleep(5 * time.Second) // slow to return, while the key is free
			return ctx.Err()
		})
		if err := <-done; err != nil {
			t.Error(err)
		}
		if rounds != 3 || most != 1 {
			t.Errorf("%d rounds, %d at a time; want 3, one at a time", rounds, most)
		}
	})
}

func TestLeadEndsWithItsContextAndWithItsClient(t *testing.T) {
	inSim(t, 3, func(t *testing.T, s *sim) {
		mustLock(t, s.open(), "key")
		c := s.open()
		ctx, cancel := context.WithCancel(t.Context())
		never := func(context.Context) error { t.Error("it leads"); return nil }
		waiting := leading(ctx, c, never)
		settle()
		cancel()
		if err := <-waiting; !errors.Is(err, context.Canceled) {
			t.Errorf("%v, want one of the context", err)
		}
		s.Kill(0, 1, 2)
		pausing := leading(t.Context(), c, never)
		time.Sleep(time.Minute)
		within(t, time.Second, func() {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			if err := <-pausing; !errors.Is(err, redlock.ErrClosed) {
				t.Errorf("%v, want ErrClosed", err)
			}
		})
	})
}

// A simple loop around Do would log a line for each of some thousand attempts a second.
func TestRefusalsAreRetriedWithPausesAndEachReasonIsLoggedOnce(t *testing.T) {
	inSim(t, 3, func(t *testing.T, s *sim) {
		log := new(logBuffer)
		s.Kill(0, 1)
		var attempts int
		c := s.open(redlock.WithOutageWait(0), redlock.WithLogger(log.logger()),
			redlock.WithTrace(&redlock.Trace{Attempt: func(redlock.AttemptInfo) { attempts++ }}))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := c.Lead(ctx, "key", func(context.Context) error { t.Error("it leads"); return nil })
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v, want one of the context", err)
		}
		if attempts < 8 || attempts > 16 { // 0.1, 0.2, … 10, 10 s
			t.Errorf("%d attempts in a minute, want about a dozen", attempts)
		}
		if n := strings.Count(log.String(), "not leading"); n < 1 || n > 3 {
			t.Errorf("%d lines say that it does not lead, want one for each reason:\n%s", n, log)
		}
		done := leading(t.Context(), c, func(context.Context) error { t.Error("it leads"); return nil })
		for range 6 { // the third master comes and goes
			time.Sleep(20 * time.Second)
			s.Kill(2)
			time.Sleep(20 * time.Second)
			s.Restart(true, 2)
		}
		_ = c.Close()
		if err := <-done; !errors.Is(err, redlock.ErrClosed) {
			t.Errorf("%v, want ErrClosed", err)
		}
		if n := strings.Count(log.String(), "not leading"); n > 6 {
			t.Errorf("%d lines say that it does not lead, want one for each reason:\n%s", n, log)
		}
	})
}

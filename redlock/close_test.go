package redlock_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

func TestCloseUnlocksWhatIsHeldAndEndsItsContexts(t *testing.T) {
	inCleanSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open(redlock.WithTTL(time.Minute))
		var held []*redlock.Lock
		for _, key := range []string{"a", "b", "c"} {
			held = append(held, s.lock(c, key))
		}
		ctx, cancel := held[0].WithContext(t.Context())
		defer cancel()
		var wg sync.WaitGroup
		for range 3 { // at once, and more than once
			wg.Go(func() {
				if err := c.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		for _, l := range held {
			wantExactly(t, context.Cause(l.Context()), redlock.ErrLost, redlock.ErrClosed)
			wantReason(t, context.Cause(l.Context()), redlock.ReasonClosed)
			if left := l.Remaining(); left != 0 {
				t.Errorf("a lost lock has %v remaining", left)
			}
			s.wantFree(l.Key())
			wantExactly(t, l.Unlock(t.Context()), redlock.ErrNotHeld, redlock.ErrLost, redlock.ErrClosed)
			wantExactly(t, l.Extend(t.Context()), redlock.ErrNotHeld, redlock.ErrLost, redlock.ErrClosed)
		}
		wantExactly(t, context.Cause(ctx), redlock.ErrLost, redlock.ErrClosed)
		for name, call := range callsOf(c) {
			t.Log(name)
			wantExactly(t, call(t.Context()), redlock.ErrClosed)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}

// Close waits for the function of a running Do, and unlocks only then: nobody else may have the
// lock while the function works.
func TestCloseWaitsForDo(t *testing.T) {
	inCleanSim(t, 5, func(t *testing.T, s *sim) {
		c, other := s.open(), s.open()
		running, finish := make(chan struct{}), make(chan struct{})
		var returned atomic.Bool
		done := make(chan error, 1)
		go func() {
			done <- c.Do(t.Context(), "key", func(ctx context.Context) error {
				close(running)
				<-ctx.Done()
				wantExactly(t, context.Cause(ctx), redlock.ErrLost, redlock.ErrClosed)
				<-finish
				returned.Store(true)
				return nil
			}, redlock.WithTTL(time.Minute))
		}()
		<-running
		closed := make(chan struct{})
		go func() {
			defer close(closed)
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			if !returned.Load() {
				t.Error("Close returned before the function")
			}
		}()
		// The function takes some round trips; the lock is taken meanwhile.
		for range 50 {
			_, err := other.TryLock(t.Context(), "key")
			wantExactly(t, err, redlock.ErrTaken)
		}
		close(finish)
		wantExactly(t, <-done, redlock.ErrLost, redlock.ErrClosed)
		within(t, 0, func() { <-closed })
		unlock(t, s.lock(other, "key"))
		s.wantFree("key")
	})
}

// Whatever runs when a client is closed, nothing stays behind: no key for its TTL of a minute, and
// no function of Do that still works after Close.
func TestCloseInTheMiddleOfEverythingLeavesNothing(t *testing.T) {
	const workers = 8
	inCleanSim(t, 5, func(t *testing.T, s *sim) {
		for n := range 40 {
			c := s.openCold(s.URLs(), redlock.WithTTL(time.Minute), redlock.WithPool(pool.WithCommandTimeout(5*time.Second)))
			var started, working atomic.Int32
			enough := make(chan struct{})
			start := func() {
				if started.Add(1) == int32(workers+n) {
					close(enough)
				}
			}
			var wg sync.WaitGroup
			for w := range workers {
				key := string(rune('a' + w))
				wg.Go(func() {
					for {
						var err error
						if w%2 == 0 {
							err = c.Do(t.Context(), key, func(context.Context) error {
								start()
								working.Add(1)
								defer working.Add(-1)
								_, err := s.Command(w%5, "PING")
								return err
							})
						} else {
							start()
							var l *redlock.Lock
							if l, err = c.TryLock(t.Context(), key); err == nil {
								err = l.Unlock(t.Context())
							}
						}
						if errors.Is(err, redlock.ErrClosed) {
							return
						}
						if err != nil {
							t.Errorf("before Close: %v", err)
							return
						}
					}
				})
			}
			<-enough
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			if n := working.Load(); n != 0 {
				t.Errorf("%d functions of Do work on after Close", n)
			}
			wg.Wait()
			s.atOnce("no key is left", func() bool { return len(s.keys()) == 0 })
		}
	})
}

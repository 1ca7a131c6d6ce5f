package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

func TestCloseUnlocksWhatIsHeldAndEndsItsContexts(t *testing.T) {
	onEach(t, 5, func(t *testing.T, f *fleet) {
		c := f.open(redlock.WithTTL(time.Minute))
		var held []*redlock.Lock
		for _, key := range []string{"a", "b", "c"} {
			held = append(held, f.lock(c, key))
		}
		ctx, cancel := held[0].WithContext(t.Context())
		defer cancel()
		var wg sync.WaitGroup
		for range 3 { // together, and again
			wg.Go(func() {
				if err := c.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		for _, l := range held {
			wantLost(t, l, redlock.ReasonClosed)
			f.wantFree(l.Key())
			wantExactly(t, l.Unlock(t.Context()), redlock.ErrNotHeld, redlock.ErrLost, redlock.ErrClosed)
			wantExactly(t, l.Extend(t.Context()), redlock.ErrNotHeld, redlock.ErrLost, redlock.ErrClosed)
		}
		wantExactly(t, context.Cause(ctx), redlock.ErrLost, redlock.ErrClosed)
		_, err := c.TryLock(t.Context(), "key")
		wantExactly(t, err, redlock.ErrClosed)
		_, err = c.Lock(t.Context(), "key")
		wantExactly(t, err, redlock.ErrClosed)
		_, err = c.Adopt(t.Context(), "key", "token")
		wantExactly(t, err, redlock.ErrClosed)
		wantExactly(t, c.Ready(t.Context()), redlock.ErrClosed)
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}

// Close waits for the function of a running Do, and only then unlocks: while it
// works, nobody else may have the lock.
func TestCloseWaitsForDo(t *testing.T) {
	onEach(t, 5, func(t *testing.T, f *fleet) {
		c, other := f.open(), f.open()
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
		// While it works, which takes some round trips, the lock is taken.
		for range 50 {
			_, err := other.TryLock(t.Context(), "key")
			wantExactly(t, err, redlock.ErrTaken)
		}
		close(finish)
		wantExactly(t, <-done, redlock.ErrLost, redlock.ErrClosed)
		f.within(0, func() { <-closed })
		f.unlock(f.lock(other, "key"))
		f.wantFree("key")
	})
}

// A function that does not heed its context holds Close up for as long as its
// lock is valid, and no longer.
func TestCloseWaitsForAStubbornDoOnlyWhileItsLockIsValid(t *testing.T) {
	onEach(t, 5, func(t *testing.T, f *fleet) {
		const ttl = time.Second
		c := f.open()
		running, stop := make(chan struct{}), make(chan struct{})
		done := make(chan error, 1)
		go func() {
			done <- c.Do(t.Context(), "key", func(context.Context) error {
				close(running)
				<-stop
				return errWork
			}, redlock.WithTTL(ttl))
		}()
		<-running
		took := f.within(ttl, func() { _ = c.Close() })
		if took < ttl/2 {
			t.Errorf("Close waited for %v only", took)
		}
		close(stop)
		err := <-done
		wantExactly(t, err, redlock.ErrLost, redlock.ErrClosed)
		if !errors.Is(err, errWork) {
			t.Errorf("%v does not have fn's error", err)
		}
		f.eventually("the key is gone", func() bool { return len(f.keys()) == 0 })
	})
}

func TestCloseEndsCallsThatWait(t *testing.T) {
	onEachUnguarded(t, 5, func(t *testing.T, f *fleet) {
		pausing := make(chan redlock.RetryInfo, 1)
		c := f.patient(redlock.WithTrace(&redlock.Trace{Retry: func(info redlock.RetryInfo) { pausing <- info }}),
			redlock.WithBackoff(func(int) time.Duration { return time.Hour }))
		queued := f.patient()
		f.foreign("taken", 0, 1, 2)
		lock := func(c *redlock.Client, key string) <-chan error {
			failed := make(chan error, 1)
			go func() { _, err := c.Lock(t.Context(), key); failed <- err }()
			return failed
		}
		waits := lock(queued, "taken")
		f.eventually("it waits", func() bool { return queued.Stats().Waiting == 1 })
		f.within(0, func() {
			go func() { _ = queued.Close() }()
			wantExactly(t, <-waits, redlock.ErrClosed)
		})

		failed := lock(c, "taken")
		<-pausing
		f.freeze(3, 4, 0)
		asking := lock(c, "free")
		f.eventually("the others have granted", func() bool { return f.value(1, "free") != "" && f.value(2, "free") != "" })
		f.within(50*time.Millisecond, func() {
			go func() { _ = c.Close() }()
			wantExactly(t, <-failed, redlock.ErrClosed)
			wantExactly(t, <-asking, redlock.ErrClosed)
		})
		f.wantFree("free")
		f.thaw(3, 4, 0)
		f.wantFree("free")
		f.remove("taken")
	})
}

// A dead client's place would be called at the next release, for as long as a queue is kept.
func TestCallsThatWaitHaveLeftTheQueuesWhenCloseReturns(t *testing.T) {
	const rounds, calls = 40, 10
	onEachUnguarded(t, 5, func(t *testing.T, f *fleet) {
		for round := range rounds {
			c := f.patient()
			ended := make(chan error, calls)
			for i := range calls {
				f.foreign(fmt.Sprint("taken", i), 0, 1, 2)
				go func() { _, err := c.Lock(t.Context(), fmt.Sprint("taken", i)); ended <- err }()
			}
			// Some are asking for a place, some may have one.
			f.eventually("all wait", func() bool { return c.Stats().Waiting == calls })
			_ = c.Close()
			f.atOnce(fmt.Sprintf("round %d: no queue is left", round), func() bool {
				return !slices.ContainsFunc(f.keys(), func(key string) bool { return strings.HasPrefix(key, "redquorum:q:") })
			})
			for i := range calls {
				wantExactly(t, <-ended, redlock.ErrClosed)
				f.remove(fmt.Sprint("taken", i))
			}
		}
	})
}

func TestCloseIsBoundedWhenMastersHang(t *testing.T) {
	onEachUnguarded(t, 5, func(t *testing.T, f *fleet) {
		c := f.openBrisk(redlock.WithTTL(2 * time.Second))
		var held []*redlock.Lock
		for _, key := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"} {
			held = append(held, f.lock(c, key))
		}
		f.freeze(f.all()...)
		f.within(250*time.Millisecond, func() { _ = c.Close() })
		for _, l := range held {
			wantLost(t, l, redlock.ReasonClosed)
		}
		f.thaw(f.all()...)
		f.eventually("no key outlives its TTL", func() bool { return len(f.keys()) == 0 })
	})
}

// Whatever runs when a client is closed, nothing is left: no key for a TTL of a
// minute, and no function of Do that works on after Close.
func TestCloseInTheMiddleOfEverythingLeavesNothing(t *testing.T) {
	const workers = 8
	onEach(t, 5, func(t *testing.T, f *fleet) {
		for n := range 40 {
			c := f.openCold(redlock.WithTTL(time.Minute), redlock.WithPool(pool.WithCommandTimeout(5*time.Second)))
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
								_, err := f.command(w%5, "PING")
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
			f.atOnce("no key is left", func() bool { return len(f.keys()) == 0 })
		}
	})
}

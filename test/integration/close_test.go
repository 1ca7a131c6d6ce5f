package integration

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

func TestCloseUnlocksWhatIsHeldAndEndsItsContexts(t *testing.T) {
	p := startProcesses(t, five)
	c := p.open(redlock.WithTTL(longTTL))
	var held []*redlock.Lock
	for _, key := range []string{"a", "b", "c"} {
		held = append(held, mustTry(t, c, key))
	}
	ctx, cancel := held[0].WithContext(context.Background())
	defer cancel()
	var wg sync.WaitGroup
	for range 3 { // together, and again
		wg.Go(func() { closeClient(t, c) })
	}
	wg.Wait()
	for _, l := range held {
		wantLost(t, l, redlock.ReasonClosed)
		p.wantFree(l.Key())
	}
	wantExactly(t, "cause of a context made with WithContext", context.Cause(ctx), redlock.ErrLost, redlock.ErrClosed)
}

func TestCloseEndsCallsThatWait(t *testing.T) {
	p := startProcesses(t, five)
	p.trusting = true
	pausing := make(chan redlock.RetryInfo, 1)
	c := p.patient(redlock.WithTrace(&redlock.Trace{Retry: func(info redlock.RetryInfo) { pausing <- info }}),
		redlock.WithBackoff(func(int) time.Duration { return time.Hour }))
	p.foreign("taken", strangersToken, 0, 1, 2)
	failed := make(chan error, 1)
	go func() { _, err := c.Lock(context.Background(), "taken"); failed <- err }()
	<-pausing
	p.freeze(3, 4, 0)
	asking := make(chan error, 1)
	go func() { _, err := c.Lock(context.Background(), "free"); asking <- err }()
	eventually(t, "the others have granted", func() bool { return p.value(1, "free") != "" && p.value(2, "free") != "" })
	began := time.Now()
	go func() { _ = c.Close() }()
	wantExactly(t, "Lock, pausing", <-failed, redlock.ErrClosed)
	wantExactly(t, "Lock, asking", <-asking, redlock.ErrClosed)
	if took := time.Since(began); took > time.Second {
		t.Errorf("the calls ended %v after Close began", took)
	}
	p.wantFree("free")
	p.thaw(3, 4, 0)
	p.wantFree("free")
	p.remove("taken")
}

// Close waits for the function of a running Do, and only then unlocks: while it
// works, nobody else may have the lock.
func TestCloseWaitsForDo(t *testing.T) {
	p := startProcesses(t, five)
	c, other := p.open(), p.open()
	running, finish := make(chan struct{}), make(chan struct{})
	var returned atomic.Bool
	done := make(chan error, 1)
	go func() {
		done <- c.Do(context.Background(), "lock", func(ctx context.Context) error {
			close(running)
			<-ctx.Done()
			wantExactly(t, "cause of the function's context", context.Cause(ctx), redlock.ErrLost, redlock.ErrClosed)
			<-finish
			returned.Store(true)
			return nil
		}, redlock.WithTTL(longTTL))
	}()
	<-running
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_ = c.Close()
		if !returned.Load() {
			t.Error("Close returned before the function")
		}
	}()
	// While it works, which takes some round trips, the lock is taken.
	for range 50 {
		_, err := other.TryLock(context.Background(), "lock")
		wantExactly(t, "TryLock of another while the function works", err, redlock.ErrTaken)
	}
	close(finish)
	wantExactly(t, "Do", <-done, redlock.ErrLost, redlock.ErrClosed)
	await(t, closeBound, "Close", closed)
	mustUnlock(t, mustTry(t, other, "lock"))
	p.wantFree("lock")
}

// A function that does not heed its context holds Close up for as long as its
// lock is valid, and no longer.
func TestCloseWaitsForDoNoLongerThanTheLockIsValid(t *testing.T) {
	const ttl = 600 * time.Millisecond
	p := startProcesses(t, five)
	c := p.open()
	running, finish := make(chan struct{}), make(chan struct{})
	done := make(chan error, 1)
	go func() {
		done <- c.Do(context.Background(), "lock", func(context.Context) error {
			close(running)
			<-finish
			return errWork
		}, redlock.WithTTL(ttl))
	}()
	<-running
	took := timed(func() { closeClient(t, c) })
	if took > ttl+time.Second {
		t.Errorf("Close took %v, want the validity of %v at the most, and the masters' timeout", took, ttl)
	}
	close(finish)
	err := <-done
	wantExactly(t, "Do", err, redlock.ErrLost, redlock.ErrClosed)
	if !errors.Is(err, errWork) {
		t.Errorf("Do: %v, want the function's error in it", err)
	}
	p.wantFree("lock")
}

func TestCloseIsBoundedWhileMastersHang(t *testing.T) {
	p := startProcesses(t, five)
	p.trusting = true
	c := p.openBrisk()
	l := mustTry(t, c, "lock", redlock.WithTTL(2*time.Second))
	p.freeze(0, 1, 2, 3, 4)
	if took := timed(func() { closeClient(t, c) }); took > 2*time.Second {
		t.Errorf("Close took %v, want about the masters' timeout", took)
	}
	wantLost(t, l, redlock.ReasonClosed)
	p.thaw(0, 1, 2, 3, 4)
	within(t, 3*time.Second, "no key outlives its TTL", func() bool { return p.free("lock") })
}

// Whatever runs when a client is closed, nothing is left: no key for a TTL of a
// minute, and no function of Do that works on after Close.
func TestCloseInTheMiddleOfEverythingLeavesNothing(t *testing.T) {
	const workers = 8
	p := startProcesses(t, five)
	for n := range 100 {
		c := p.openCold(redlock.WithTTL(longTTL))
		var started, working atomic.Int32
		var wg sync.WaitGroup
		for w := range workers {
			key := string(rune('a' + w))
			wg.Go(func() {
				for {
					var err error
					if w%2 == 0 {
						err = c.Do(context.Background(), key, func(context.Context) error {
							started.Add(1)
							working.Add(1)
							defer working.Add(-1)
							_, err := p.command(w%five, "PING")
							return err
						})
					} else {
						started.Add(1)
						var l *redlock.Lock
						if l, err = c.TryLock(context.Background(), key); err == nil {
							err = l.Unlock(context.Background())
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
		eventually(t, "all are at work", func() bool { return started.Load() > int32(workers+n%40) })
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if n := working.Load(); n != 0 {
			t.Errorf("%d functions of Do work on after Close", n)
		}
		wg.Wait()
		within(t, lateBound, "no key is left", func() bool {
			left := false
			p.each(func(i int) { left = left || p.do(i, "DBSIZE") != int64(0) })
			return !left
		})
	}
}

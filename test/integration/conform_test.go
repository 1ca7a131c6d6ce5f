package integration

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/leftover"
	"github.com/redquorum/redquorum/redlock"
)

// What the tests of other lock libraries ask of a lock, as far as no test asked it before:
// docs/project/conformance.md says what comes from where.

// Redisson's testWatchdogDoesNotOutliveInterruptedAcquire and
// testCancelledTryLockAsyncDoesNotLeaveWatchdog: acquisitions are cancelled at
// every moment that there is, and nothing is left that is held or renewed.
func TestNothingOutlivesAStormOfCancelledAcquisitions(t *testing.T) {
	const workers, each = 4, 150
	p := startProcesses(t, 3)
	renewed, trace := traceRenewals()
	c := p.open(trace, redlock.WithTTL(longTTL), redlock.WithRenewal(redlock.Renewal{Every: 50 * time.Millisecond}))
	var acquired, cancelled atomic.Int32
	var wg sync.WaitGroup
	for n := range workers {
		wg.Go(func() {
			for i := range each {
				ctx, cancel := context.WithCancel(context.Background())
				interrupt := time.AfterFunc(rand.N(time.Millisecond), cancel)
				lock := c.Lock
				if (i+n)%2 == 0 {
					lock = c.TryLock
				}
				l, err := lock(ctx, "lock")
				switch {
				case err == nil:
					acquired.Add(1)
					mustUnlockEither(t, l)
				case ctx.Err() != nil:
					cancelled.Add(1)
				}
				interrupt.Stop()
				cancel()
			}
		})
	}
	wg.Wait()
	t.Logf("of %d acquisitions %d succeeded and %d were cancelled", workers*each, acquired.Load(), cancelled.Load())
	if cancelled.Load() == 0 {
		t.Error("none was cancelled")
	}
	p.wantFree("lock") // long before the TTL
	beside := mustTry(t, c, "beside")
	renewed.forget()
	renewed.awaitMore(t, "beside", 3)
	if good, failed := renewed.of("lock"); good+failed != 0 {
		t.Errorf("a lock that nobody holds was renewed %d times (%d failed)", good, failed)
	}
	mustUnlock(t, beside)
	wantNothingOfTheQueue(t, p)
}

// rueidislock's TestLocker_WithContext_CancelContext, _MissingPeers and _MultipleLocker: a
// hundred calls of every sort wait. All of them give up at the moment at which the holder
// lets go, and at last all are served.
func TestAHundredWaitersAreAllServedOrGiveUpAndLeaveNothing(t *testing.T) {
	const waiters, rounds = 100, 10
	p := startProcesses(t, 3)
	c := p.open(redlock.WithTTL(longTTL))
	sorts := []func(ctx context.Context) (*redlock.Lock, error){
		func(ctx context.Context) (*redlock.Lock, error) { return c.Lock(ctx, "lock") },
		func(ctx context.Context) (*redlock.Lock, error) { return c.LockAll(ctx, []string{"lock", "other"}) },
		func(ctx context.Context) (*redlock.Lock, error) { return c.LockAny(ctx, []string{"lock"}) },
		func(ctx context.Context) (*redlock.Lock, error) { return c.RWMutex("lock").RLock(ctx) },
		func(ctx context.Context) (*redlock.Lock, error) { return c.RWMutex("lock").Lock(ctx) },
	}
	mustUnlock(t, mustTry(t, c, "lock")) // the keeper's goroutine runs from now on
	idle := len(leftover.Goroutines(leftover.Library...))
	for round := range rounds {
		last := round == rounds-1
		holder := mustTry(t, c, "lock")
		ctx, cancel := context.WithTimeout(context.Background(), 3*settleBound)
		var wg sync.WaitGroup
		var served atomic.Int32
		for n := range waiters {
			wg.Go(func() {
				l, err := sorts[n%len(sorts)](ctx)
				switch {
				case err == nil: // or it was quicker than the cancellation
					served.Add(1)
					mustUnlockEither(t, l)
				case last:
					t.Errorf("Lock: %v", err)
				default:
					wantGivenUp(t, err)
				}
			})
		}
		if !last {
			cancel()
		}
		mustUnlock(t, holder)
		wg.Wait()
		cancel()
		if n := served.Load(); last && n != waiters {
			t.Errorf("%d were served, want %d", n, waiters)
		}
		p.wantFree("lock")
		p.wantFree("other")
	}
	wantNothingOfTheQueue(t, p)
	eventually(t, "no goroutine of a waiter is left", func() bool {
		return len(leftover.Goroutines(leftover.Library...)) <= idle
	})
}

// wantGivenUp asks for the error of a call that was cancelled, at whatever moment:
// before anything was sent, in an attempt that had no answers yet, or in a pause.
func wantGivenUp(t *testing.T, err error) {
	t.Helper()
	if !matchesExactly(err, context.Canceled) && !matchesExactly(err, context.Canceled, redlock.ErrTaken) &&
		!matchesExactly(err, context.Canceled, redlock.ErrNoQuorum) {
		t.Errorf("a call that is cancelled: %v", err)
	}
}

// mustUnlockEither is mustUnlock for goroutines other than the test's.
func mustUnlockEither(t *testing.T, l *redlock.Lock) {
	t.Helper()
	if err := l.Unlock(context.Background()); err != nil {
		t.Errorf("the lock is held: %v", err)
	}
}

// wantNothingOfTheQueue waits until no master has anything of those who waited:
// no entry and no channel.
func wantNothingOfTheQueue(t *testing.T, p *processes) {
	t.Helper()
	eventually(t, "no queue and no subscription is left", func() bool {
		left := 0
		p.each(func(i int) {
			queues, err := redis.Strings(p.command(i, "KEYS", "redquorum:q:*"))
			if err != nil {
				t.Fatal(err)
			}
			channels, err := redis.Strings(p.command(i, "PUBSUB", "CHANNELS"))
			if err != nil {
				t.Fatal(err)
			}
			left += len(queues) + len(channels)
		})
		return left == 0
	})
}

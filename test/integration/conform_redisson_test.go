package integration

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// What the tests of Redisson ask of a lock (redisson/redisson,
// RedissonLockExpirationRenewalTest.java and RedissonLockTest.java under
// redisson/src/test/java/org/redisson). See docs/explanation/conformance.md.

// awaitPast waits until a key that is held from now on has been renewed for longer
// than a TTL. That a renewal has succeeded says nothing of what it prolonged.
func (r *renewals) awaitPast(t *testing.T, key string, ttl time.Duration) {
	t.Helper()
	began := time.Now()
	r.awaitMore(t, key, 2)
	eventually(t, "the TTL has passed", func() bool { return time.Since(began) > ttl+ttl/4 })
}

// testLockAfterTimeout, testWriteLockAfterTimeout and testReadLockAfterTimeout:
// the masters are restarted, empty, in the middle of a hold which ends
// meanwhile. Its Unlock says that it is lost; the next hold is renewed as if nothing
// had been, and of a higher fencing token, as RedissonFencedLockTest asks for.
func TestAfterARestartInMidHoldTheNextHoldIsRenewed(t *testing.T) {
	const ttl = 900 * time.Millisecond
	for _, kind := range []struct {
		name string
		lock func(ctx context.Context, c *redlock.Client) (*redlock.Lock, error)
	}{
		{"plain", func(ctx context.Context, c *redlock.Client) (*redlock.Lock, error) { return c.Lock(ctx, "lock") }},
		{"writer", func(ctx context.Context, c *redlock.Client) (*redlock.Lock, error) {
			return c.RWMutex("lock").Lock(ctx)
		}},
		{"reader", func(ctx context.Context, c *redlock.Client) (*redlock.Lock, error) {
			return c.RWMutex("lock").RLock(ctx)
		}},
		{"fenced", func(ctx context.Context, c *redlock.Client) (*redlock.Lock, error) {
			return c.Lock(ctx, "lock", redlock.WithFencing())
		}},
	} {
		t.Run(kind.name, func(t *testing.T) {
			p := startProcesses(t, 3)
			p.dropFences()
			renewed, trace := traceRenewals()
			// MaxTTL bounds for how long a master that forgot has no vote.
			c := p.open(trace, reconnectSoon(), redlock.WithTTL(ttl), redlock.WithMaxTTL(ttl), redlock.WithOutageWait(settleBound))
			ctx, cancel := context.WithTimeout(context.Background(), 2*settleBound)
			defer cancel()
			l, err := kind.lock(ctx, c)
			if err != nil {
				t.Fatal(err)
			}
			p.kill(0, 1, 2)
			await(t, settleBound, "the hold ends", l.Context().Done())
			p.restart(0, 1, 2)
			wantExactly(t, "Unlock", l.Unlock(ctx), redlock.ErrLost, redlock.ErrNotHeld)
			next, err := kind.lock(ctx, c)
			if err != nil {
				t.Fatal(err)
			}
			renewed.awaitPast(t, "lock", ttl)
			if err := next.Context().Err(); err != nil {
				t.Errorf("the next hold ended: %v", context.Cause(next.Context()))
			}
			if fenced := kind.name == "fenced"; fenced && next.Fence() <= l.Fence() || (l.Fence() != 0) != fenced {
				t.Errorf("the token was %d and is %d", l.Fence(), next.Fence())
			}
			mustUnlock(t, next)
			p.wantFree("lock")
		})
	}
}

// testLockReentrantRenew: a hold that was entered twice and left twice has not
// confused the renewal of the next one.
func TestTheHoldAfterAReentrantOneIsRenewed(t *testing.T) {
	p := startProcesses(t, 3)
	renewed, trace := traceRenewals()
	const ttl = 900 * time.Millisecond
	c := p.open(trace, redlock.WithReentrancy(), redlock.WithTTL(ttl))
	outer := mustTry(t, c, "lock")
	inner := mustTryUnder(outer.Context(), t, c, "lock")
	mustUnlock(t, inner)
	mustUnlock(t, outer)
	next := mustTry(t, c, "lock")
	renewed.awaitPast(t, "lock", 2*ttl)
	if n := p.holders("lock", next.Token()); n < 2 || next.Context().Err() != nil {
		t.Errorf("%d masters have it, and its context says %v", n, next.Context().Err())
	}
	mustUnlock(t, next)
	p.wantFree("lock")
}

// testWatchdogDoesNotOutliveInterruptedAcquire and
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

// RedissonLockTest.testSubscriptionsPerConnection: many wait for few keys, and no
// channel is left.
func TestNoChannelIsLeftWhenNobodyWaits(t *testing.T) {
	const workers, each, keys = 16, 12, 5
	p := startProcesses(t, 3)
	clients := []*redlock.Client{p.open(redlock.WithTTL(longTTL)), p.open(redlock.WithTTL(longTTL))}
	ctx, cancel := context.WithTimeout(context.Background(), 3*settleBound)
	defer cancel()
	var wg sync.WaitGroup
	for n := range workers {
		wg.Go(func() {
			for range each {
				err := clients[n%2].Do(ctx, fmt.Sprint("lock-", rand.N(keys)), func(context.Context) error {
					time.Sleep(rand.N(2 * time.Millisecond)) // for others to wait
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for n := range keys {
		p.wantFree(fmt.Sprint("lock-", n))
	}
	wantNothingOfTheQueue(t, p)
}

// RedissonLockTest.testTryLockWait: who waits for so long waits for so long, and
// not for longer.
func TestAWaitLastsAsLongAsItsContext(t *testing.T) {
	const patience = 400 * time.Millisecond
	p := startProcesses(t, 3)
	p.foreign("lock", strangersToken, 0, 1, 2)
	c := p.open()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var err error
	took := timed(func() { _, err = c.Lock(ctx, "lock") })
	wantExactly(t, "Lock", err, redlock.ErrTaken, context.DeadlineExceeded)
	if took < patience-rounding || took > patience+lateness {
		t.Errorf("Lock took %v, want %v", took, patience)
	}
	p.remove("lock")
	wantNothingOfTheQueue(t, p)
}

package integration

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/leftover"
	"github.com/redquorum/redquorum/internal/rig"
	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

// What the tests of other lock libraries ask of a lock, as far as no test asked it before:
// docs/project/conformance.md says what comes from where.

// node-redlock's single.test.ts and multi.test.ts: exactly as many attempts as configured,
// each with its causes, and what is refused takes nothing, not for a moment.
func TestWhatCannotBeHadIsTriedExactlyAsOftenAsConfigured(t *testing.T) {
	const tries = 11
	down := func(cause error) bool { return errors.Is(cause, pool.ErrDown) }
	held := func(cause error) bool { _, ok := errors.AsType[*redlock.HeldError](cause); return ok }
	for _, test := range []struct {
		name    string
		prepare func(p *processes, c *redlock.Client)
		keys    []string
		kind    error
		right   func(cause error) bool
	}{
		{"unreachable masters", func(p *processes, c *redlock.Client) {
			p.kill(0, 1, 2)
			awaitRefused(p.t, c, 0, 1, 2)
		}, []string{"b"}, redlock.ErrNoQuorum, down},
		{"a lock that is taken", func(p *processes, _ *redlock.Client) { p.foreign("b", strangersToken, 0, 1, 2) },
			[]string{"b"}, redlock.ErrTaken, held},
		{"foreign keys of a majority", func(p *processes, _ *redlock.Client) { p.foreign("b", strangersToken, 1, 2) },
			[]string{"b"}, redlock.ErrTaken, held},
		{"a set that overlaps", func(p *processes, _ *redlock.Client) { p.foreign("b", strangersToken, 0, 1, 2) },
			[]string{"a", "b"}, redlock.ErrTaken, held},
	} {
		t.Run(test.name, func(t *testing.T) {
			var mu sync.Mutex // guards what follows
			var tried []redlock.AttemptInfo
			pauses := 0
			p := startProcesses(t, 3)
			c := p.open(reconnectSoon(), redlock.WithTrace(&redlock.Trace{
				Attempt: func(info redlock.AttemptInfo) { mu.Lock(); defer mu.Unlock(); tried = append(tried, info) },
				Retry:   func(redlock.RetryInfo) { mu.Lock(); defer mu.Unlock(); pauses++ },
			}))
			test.prepare(p, c)
			opts := []redlock.LockOption{redlock.WithTries(tries), redlock.WithBackoff(func(int) time.Duration { return time.Millisecond })}
			var err error
			if len(test.keys) == 1 {
				_, err = c.Lock(context.Background(), test.keys[0], opts...)
			} else {
				_, err = c.LockAll(context.Background(), test.keys, opts...)
			}
			wantExactly(t, "Lock", err, test.kind)
			mu.Lock()
			defer mu.Unlock()
			if len(tried) != tries || pauses != tries-1 {
				t.Errorf("%d attempts with %d pauses, want %d with one less", len(tried), pauses, tries)
			}
			for i, info := range tried {
				wantExactly(t, "an attempt", info.Err, test.kind)
				if info.Attempt != i+1 || info.OK >= quorumError(t, info.Err).Need {
					t.Errorf("attempt %d: called the %d-th, with %d masters that agreed", i+1, info.Attempt, info.OK)
				}
				named := causes(t, info.Err)
				if len(named) == 0 {
					t.Errorf("attempt %d names no master: %v", i+1, info.Err)
				}
				for master, cause := range named {
					if !test.right(cause) && !errors.Is(cause, redlock.ErrNotAwaited) {
						t.Errorf("attempt %d: master %s: %v", i+1, master, cause)
					}
				}
			}
			p.each(func(i int) {
				eventually(t, "what is not a stranger's is free", func() bool {
					return p.value(i, "a") == "" && slices.Contains([]string{"", strangersToken}, p.value(i, "b"))
				})
			})
			p.remove("b")
		})
	}
}

// pottery's test_context_manager_release_before_exit.
func TestWhoUnlocksInsideOfDoIsNotTakenForALoser(t *testing.T) {
	p := startProcesses(t, 3)
	c := p.open()
	err := c.Do(context.Background(), "printer", func(ctx context.Context) error {
		l, _ := redlock.FromContext(ctx)
		return l.Unlock(context.WithoutCancel(ctx))
	})
	if err != nil {
		t.Errorf("Do: %v; there it is an error, here the function's own affair", err)
	}
	p.wantFree("printer")
}

// Redisson's RedissonFencedLockTest.testTokenIncrease: every way to acquire gives a higher
// token than all before. There they are 1, 2, 3; here they only rise, since they start
// from a clock.
func TestTokensIncreaseByEveryWayToAcquire(t *testing.T) {
	p := startProcesses(t, 3)
	p.dropFences()
	c := p.open(redlock.WithFencing(), redlock.WithTTL(longTTL))
	ctx := context.Background()
	last := uint64(0)
	for round := range 2 {
		for name, acquire := range map[string]func() (*redlock.Lock, error){
			"Lock":         func() (*redlock.Lock, error) { return c.Lock(ctx, "lock") },
			"TryLock":      func() (*redlock.Lock, error) { return c.TryLock(ctx, "lock") },
			"with lease":   func() (*redlock.Lock, error) { return c.Lock(ctx, "lock", redlock.WithLease(10*time.Second)) },
			"LockAll":      func() (*redlock.Lock, error) { return c.LockAll(ctx, []string{"lock", "other"}) },
			"writer":       func() (*redlock.Lock, error) { return c.RWMutex("lock").Lock(ctx) },
			"of WithTries": func() (*redlock.Lock, error) { return c.Lock(ctx, "lock", redlock.WithTries(3)) },
		} {
			l, err := acquire()
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			token := l.Fence()
			if token <= last {
				t.Errorf("round %d, %s: token %d after %d", round, name, token, last)
			}
			if err := l.Extend(ctx); err != nil || l.Fence() != token {
				t.Errorf("%s: extended (%v), the token is %d and was %d", name, err, l.Fence(), token)
			}
			last = max(last, token)
			mustUnlock(t, l)
			if l.Fence() != token {
				t.Errorf("%s: unlocked, the token is %d and was %d", name, l.Fence(), token)
			}
			for _, key := range l.Keys() {
				p.wantFree(key)
			}
		}
	}
}

// Redisson's testLockAfterTimeout, testWriteLockAfterTimeout and testReadLockAfterTimeout:
// the masters are restarted, empty, in the middle of a hold which ends
// meanwhile. Its Unlock says that it is lost; the next hold is renewed as if nothing
// had been, and of a higher fencing token, as RedissonFencedLockTest asks for.
func TestAfterARestartInMidHoldTheNextHoldIsRenewed(t *testing.T) {
	const ttl = 900 * time.Millisecond
	for kind, lock := range map[string]func(ctx context.Context, c *redlock.Client) (*redlock.Lock, error){
		"plain": func(ctx context.Context, c *redlock.Client) (*redlock.Lock, error) { return c.Lock(ctx, "lock") },
		"writer": func(ctx context.Context, c *redlock.Client) (*redlock.Lock, error) {
			return c.RWMutex("lock").Lock(ctx)
		},
		"reader": func(ctx context.Context, c *redlock.Client) (*redlock.Lock, error) {
			return c.RWMutex("lock").RLock(ctx)
		},
		"fenced": func(ctx context.Context, c *redlock.Client) (*redlock.Lock, error) {
			return c.Lock(ctx, "lock", redlock.WithFencing())
		},
	} {
		t.Run(kind, func(t *testing.T) {
			p := startProcesses(t, 3)
			p.dropFences()
			renewed, trace := traceRenewals()
			// MaxTTL bounds for how long a master that forgot has no vote.
			c := p.open(trace, reconnectSoon(), redlock.WithTTL(ttl), redlock.WithMaxTTL(ttl), redlock.WithOutageWait(settleBound))
			ctx, cancel := context.WithTimeout(context.Background(), 2*settleBound)
			defer cancel()
			l, err := lock(ctx, c)
			if err != nil {
				t.Fatal(err)
			}
			p.kill(0, 1, 2)
			rig.Await(t, settleBound, "the hold ends", l.Context().Done())
			p.restart(0, 1, 2)
			wantExactly(t, "Unlock", l.Unlock(ctx), redlock.ErrLost, redlock.ErrNotHeld)
			next, err := lock(ctx, c)
			if err != nil {
				t.Fatal(err)
			}
			renewed.awaitPast(t, "lock", ttl)
			if err := next.Context().Err(); err != nil {
				t.Errorf("the next hold ended: %v", context.Cause(next.Context()))
			}
			if fenced := kind == "fenced"; fenced && next.Fence() <= l.Fence() || (l.Fence() != 0) != fenced {
				t.Errorf("the token was %d and is %d", l.Fence(), next.Fence())
			}
			mustUnlock(t, next)
			p.wantFree("lock")
		})
	}
}

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

package integration

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/leftover"
	"github.com/redquorum/redquorum/redlock"
)

// What the tests of rueidislock ask of a lock (redis/rueidis,
// rueidislock/lock_test.go). See docs/explanation/conformance.md.
//
// rueidislock hears of every change of its keys from the masters, by client-side
// caching, and asks anew. This library asks when it renews, and when Verify is
// called: a hold whose keys somebody deletes ends then, and not before.

// TestLocker_WithContext_UnlockByClientSideCaching.
func TestAHoldWhoseKeysAreDeletedEndsWhenTheMastersAreAsked(t *testing.T) {
	for _, test := range []struct {
		name string
		ask  func(t *testing.T, l *redlock.Lock)
	}{
		{"by a renewal", func(*testing.T, *redlock.Lock) {}},
		{"by Verify", func(t *testing.T, l *redlock.Lock) {
			wantExactly(t, "Verify", l.Verify(context.Background()), redlock.ErrLost, redlock.ErrNotHeld)
		}},
		{"by Extend", func(t *testing.T, l *redlock.Lock) {
			wantExactly(t, "Extend", l.Extend(context.Background()), redlock.ErrLost, redlock.ErrNotHeld)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := startProcesses(t, 3)
			every := longTTL / 2 // never, as far as the test is concerned
			if test.name == "by a renewal" {
				every = 300 * time.Millisecond
			}
			l := mustTry(t, p.open(), "lock", redlock.WithTTL(longTTL), redlock.WithRenewal(redlock.Renewal{Every: every}))
			eventually(t, "all have the key", func() bool { return p.holders("lock", l.Token()) == 3 })
			for i := range 2 {
				p.do(i, "DEL", "lock")
			}
			test.ask(t, l)
			await(t, settleBound, "the hold ends", l.Context().Done())
			wantLost(t, l, redlock.ReasonExpired)
			p.wantFree("lock") // also where it still was
		})
	}
}

// TestLocker_WithContext_ExtendByClientSideCaching: somebody shortens the expiry,
// and the holder sets it right before it comes.
func TestAnExpiryThatWasShortenedIsSetRightByTheNextRenewal(t *testing.T) {
	const ttl = 20 * time.Second
	p := startProcesses(t, 3)
	renewed, trace := traceRenewals()
	l := mustTry(t, p.open(trace), "lock", redlock.WithTTL(ttl), redlock.WithRenewal(redlock.Renewal{Every: 200 * time.Millisecond}))
	renewed.awaitMore(t, "lock", 1)
	for i := range 3 {
		p.do(i, "PEXPIRE", "lock", 5000)
	}
	renewed.awaitMore(t, "lock", 2) // the first may have been under way
	for i := range 3 {
		eventually(t, "it has its TTL again", func() bool { return p.pttl(i, "lock") > 10_000 })
	}
	if err := l.Context().Err(); err != nil {
		t.Errorf("the hold ended: %v", context.Cause(l.Context()))
	}
	mustUnlock(t, l)
	p.wantFree("lock")
}

// TestLocker_WithContext_ShorterTimeoutContext. There the context of the
// acquisition bounds the hold too. Here it bounds the waiting alone, and
// WithContext joins the two for whoever wants that.
func TestTheContextOfTheAcquisitionDoesNotEndTheHold(t *testing.T) {
	p := startProcesses(t, 3)
	renewed, trace := traceRenewals()
	ctx, cancel := context.WithCancel(context.Background())
	l, err := p.open(trace).Lock(ctx, "lock", redlock.WithTTL(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	joined, leave := l.WithContext(ctx)
	defer leave()
	cancel()
	await(t, settleBound, "the joined context ends", joined.Done())
	wantExactly(t, "cause of the joined context", context.Cause(joined), context.Canceled)
	renewed.awaitMore(t, "lock", 2)
	if err := l.Context().Err(); err != nil {
		t.Errorf("the hold ended: %v", context.Cause(l.Context()))
	}
	mustUnlock(t, l)
	p.wantFree("lock")
}

// waitingCalls are n calls of one client that wait for one key.
func waitingCalls(ctx context.Context, c *redlock.Client, n int, outcome func(l *redlock.Lock, err error)) *sync.WaitGroup {
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			l, err := c.Lock(ctx, "lock")
			outcome(l, err)
		})
	}
	return &wg
}

// TestLocker_WithContext_CancelContext and _MissingPeers: a hundred wait, and all
// of them give up at the moment at which the holder lets go.
func TestAHundredWhoGiveUpLeaveNothing(t *testing.T) {
	const waiters, rounds = 100, 10
	p := startProcesses(t, 3)
	c := p.open(redlock.WithTTL(longTTL))
	mustUnlock(t, mustTry(t, c, "lock")) // the keeper's goroutine runs from now on
	idle := len(leftover.Goroutines(leftover.Library...))
	for range rounds {
		holder := mustTry(t, c, "lock")
		ctx, cancel := context.WithCancel(context.Background())
		wg := waitingCalls(ctx, c, waiters, func(l *redlock.Lock, err error) {
			if err == nil { // it was quicker than the cancellation
				mustUnlockEither(t, l)
				return
			}
			wantGivenUp(t, err)
		})
		cancel()
		mustUnlock(t, holder)
		wg.Wait()
		p.wantFree("lock")
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

// TestLocker_WithContext_MultipleLocker, with those who wait in one process: all
// of a hundred get the lock, one after the other.
func TestAHundredWaitersAreAllServed(t *testing.T) {
	const waiters = 100
	p := startProcesses(t, 3)
	c := p.open(redlock.WithTTL(longTTL))
	holder := mustTry(t, c, "lock")
	ctx, cancel := context.WithTimeout(context.Background(), 3*settleBound)
	defer cancel()
	var mu sync.Mutex
	inside, served := 0, 0
	wg := waitingCalls(ctx, c, waiters, func(l *redlock.Lock, err error) {
		if err != nil {
			t.Errorf("Lock: %v", err)
			return
		}
		mu.Lock()
		if inside++; inside != 1 {
			t.Errorf("%d hold the lock", inside)
		}
		served++
		inside--
		mu.Unlock()
		mustUnlockEither(t, l)
	})
	mustUnlock(t, holder)
	wg.Wait()
	if served != waiters {
		t.Errorf("%d were served, want %d", served, waiters)
	}
	p.wantFree("lock")
	wantNothingOfTheQueue(t, p)
}

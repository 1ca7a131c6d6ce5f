package integration

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// One handle, used by many goroutines at once while it is unlocked: exactly one
// Unlock succeeds, and no extension sets the key again behind it.
func TestAHandleMayBeUsedFromManyGoroutines(t *testing.T) {
	p := startProcesses(t, five)
	c := p.open()
	ctx := context.Background()
	for n := range 60 {
		l := mustTry(t, c, "lock", redlock.WithTTL(longTTL), redlock.WithRenewal(redlock.Renewal{Every: 5 * time.Millisecond}))
		var wg sync.WaitGroup
		var unlocked, extended atomic.Int32
		ended := func(err error) bool {
			return matchesExactly(err, redlock.ErrNotHeld, redlock.ErrUnlocked)
		}
		for range 3 {
			wg.Go(func() {
				for {
					if err := l.Extend(ctx); ended(err) {
						return
					} else if err != nil {
						t.Errorf("Extend: %v", err)
						return
					}
					extended.Add(1)
				}
			})
		}
		wg.Go(func() {
			for {
				if err := l.Verify(ctx); ended(err) {
					return
				} else if err != nil {
					t.Errorf("Verify: %v", err)
					return
				}
			}
		})
		for range 2 {
			wg.Go(func() {
				lock := l.Context()
				bound, cancel := l.WithContext(ctx)
				defer cancel()
				var until time.Time
				for lock.Err() == nil {
					if now := l.ValidUntil(); now.Before(until) {
						t.Errorf("ValidUntil went back by %v", until.Sub(now))
					} else {
						until = now
					}
					if l.Remaining() <= 0 && l.Context().Err() == nil {
						t.Error("nothing remains of a lock that is held")
					}
					_, _, _ = l.Key(), l.Keys(), l.Token()
				}
				<-bound.Done()
				wantExactly(t, "cause", context.Cause(bound), redlock.ErrUnlocked)
			})
		}
		for range 2 {
			wg.Go(func() {
				for extended.Load() < int32(n%5) { // sooner or later
					if l.Context().Err() != nil {
						break
					}
				}
				if err := l.Unlock(ctx); err == nil {
					unlocked.Add(1)
				} else if !ended(err) {
					t.Errorf("Unlock: %v", err)
				}
			})
		}
		wg.Wait()
		if unlocked.Load() != 1 {
			t.Errorf("Unlock succeeded %d times", unlocked.Load())
		}
		p.wantFree("lock")
	}
	p.wantFree("lock")
}

// Several clients, as in several programs, contend for few keys, while masters
// come and go: never two holders of one key at a time, and everyone progresses.
func TestNeverTwoHoldersAtATime(t *testing.T) {
	const clients, workers, each = 3, 4, 40
	p := startPersistent(t, five)
	p.trusting = true
	// Contenders of three clients split the votes of five masters now and then:
	// they should try again soon, or the test takes its time.
	soon := redlock.WithBackoff(func(attempt int) time.Duration {
		return time.Duration(attempt%7+1) * 2 * time.Millisecond
	})
	var inside [2]atomic.Int32
	var taken atomic.Int32
	var wg sync.WaitGroup
	for n := range clients {
		c := p.open(reconnectSoon(), soon, redlock.WithTTL(longTTL), redlock.WithOutageWait(time.Minute))
		for w := range workers {
			wg.Go(func() {
				for r := range each {
					k := (w + r) % len(inside)
					ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
					err := c.Do(ctx, fmt.Sprintf("key %d", k), func(ctx context.Context) error {
						if others := inside[k].Add(1) - 1; others != 0 {
							t.Errorf("%d others hold key %d", others, k)
						}
						defer inside[k].Add(-1)
						taken.Add(1)
						return ctx.Err()
					})
					cancel()
					if err != nil {
						t.Errorf("client %d: %v", n, err)
					}
				}
			})
		}
	}
	finished := make(chan struct{})
	go func() { defer close(finished); wg.Wait() }()
	for n := 0; ; n = (n + 1) % five {
		select {
		case <-finished:
			if got := taken.Load(); got != clients*workers*each {
				t.Errorf("held %d times, want %d", got, clients*workers*each)
			}
			for k := range inside {
				p.wantFree(fmt.Sprintf("key %d", k))
			}
			return
		default:
		}
		before := taken.Load()
		p.kill(n)
		progressed := func() bool {
			select {
			case <-finished:
				return true
			default:
				return taken.Load() > before
			}
		}
		eventually(t, "locks are taken with one master down", progressed)
		p.restart(n)
	}
}

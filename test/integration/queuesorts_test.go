package integration

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/redlock"
)

// Clients that want sets and slots, with and without a fencing token, single keys,
// to read and to write, all of the same three keys: everybody gets their turns, and
// nothing but fences is left behind.
func TestEverySortOfLockTakesTurns(t *testing.T) {
	const turns = 5
	p := startProcesses(t, five)
	p.dropFences()
	keys := []string{"a", "b", "c"}
	sorts := []func(ctx context.Context, c *redlock.Client) (*redlock.Lock, error){
		func(ctx context.Context, c *redlock.Client) (*redlock.Lock, error) { return c.Lock(ctx, "b") },
		func(ctx context.Context, c *redlock.Client) (*redlock.Lock, error) { return c.LockAll(ctx, keys[:2]) },
		func(ctx context.Context, c *redlock.Client) (*redlock.Lock, error) { return c.LockAll(ctx, keys[1:]) },
		func(ctx context.Context, c *redlock.Client) (*redlock.Lock, error) { return c.LockAny(ctx, keys) },
		func(ctx context.Context, c *redlock.Client) (*redlock.Lock, error) {
			return c.LockAll(ctx, keys[1:], redlock.WithFencing())
		},
		func(ctx context.Context, c *redlock.Client) (*redlock.Lock, error) {
			return c.LockAny(ctx, keys, redlock.WithFencing())
		},
		func(ctx context.Context, c *redlock.Client) (*redlock.Lock, error) { return c.RWMutex("a").RLock(ctx) },
		func(ctx context.Context, c *redlock.Client) (*redlock.Lock, error) { return c.RWMutex("a").Lock(ctx) },
	}
	ctx, cancel := context.WithTimeout(context.Background(), 40*time.Second)
	defer cancel()
	var wg sync.WaitGroup
	for range 2 {
		for i, acquire := range sorts {
			c := p.open(redlock.WithTTL(longTTL))
			wg.Go(func() {
				for range turns {
					l, err := acquire(ctx, c)
					if err != nil {
						t.Errorf("sort %d: %v", i, err)
						return
					}
					time.Sleep(2 * time.Millisecond)
					if err := l.Unlock(ctx); err != nil {
						t.Errorf("sort %d: %v", i, err)
					}
				}
			})
		}
	}
	wg.Wait()
	eventually(t, "nothing is left", func() bool {
		for i := range five {
			fence := func(key string) bool { return strings.HasPrefix(key, fencePrefix) }
			if len(slices.DeleteFunc(p.keys(i), fence)) > 0 {
				return false
			}
		}
		return true
	})
}

// Those who wait for many keys in vain leave nothing, of any sort.
func TestWaitingForManyKeysInVainLeavesNothing(t *testing.T) {
	const keys = 60
	p := startProcesses(t, five)
	var names []string
	for n := range keys {
		names = append(names, fmt.Sprint("idle-", n))
	}
	for i := range five {
		for _, name := range names {
			p.do(i, "SET", name, "x", "PX", 600_000)
		}
	}
	waits := make(chan struct{}, 1000)
	c := p.open(redlock.WithTTL(longTTL), redlock.WithTrace(&redlock.Trace{
		Retry: func(redlock.RetryInfo) { waits <- struct{}{} },
	}))
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for first := 0; first < keys; first += 4 {
		some := names[first : first+4]
		for _, acquire := range []func() (*redlock.Lock, error){
			func() (*redlock.Lock, error) { return c.LockAll(ctx, some) },
			func() (*redlock.Lock, error) { return c.LockAny(ctx, some) },
			func() (*redlock.Lock, error) { return c.RWMutex(some[0]).RLock(ctx) },
			func() (*redlock.Lock, error) { return c.RWMutex(some[1]).Lock(ctx) },
		} {
			wg.Go(func() {
				_, err := acquire()
				wantExactly(t, "a wait that is cancelled", err, redlock.ErrTaken, context.Canceled)
			})
		}
	}
	for range keys {
		await(t, settleBound, "all wait", waits)
	}
	queues := 0
	for i := range five {
		found, err := redis.Strings(p.command(i, "KEYS", "redquorum:q:*"))
		if err != nil {
			t.Fatal(err)
		}
		queues += len(found)
	}
	if queues == 0 {
		t.Error("nobody queues up")
	}
	cancel()
	wg.Wait()
	eventually(t, "no queue is left", func() bool {
		for i := range five {
			if found, err := redis.Strings(p.command(i, "KEYS", "redquorum:*:1:*")); err != nil || len(found) > 0 {
				return false
			}
		}
		return true
	})
	for i := range five {
		p.do(i, "FLUSHALL")
	}
}

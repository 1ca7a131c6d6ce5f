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

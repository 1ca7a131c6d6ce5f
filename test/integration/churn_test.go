package integration

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redquorum/redquorum/redlock"
)

// Ten thousand times, while one master after another is killed and comes back:
// no operation fails, and the program is as large afterwards as before.
func TestTenThousandLocksWhileAMasterGoesUpAndDown(t *testing.T) {
	const pairs, workers = 10_000, 8
	p := startPersistent(t, five)
	p.trusting = true
	c := p.open(reconnectSoon(), redlock.WithTTL(longTTL))
	ctx := context.Background()

	var failures atomic.Int32
	work := func(n int, done *atomic.Int32) {
		var wg sync.WaitGroup
		for w := range workers {
			wg.Go(func() {
				for r := range n / workers {
					key := fmt.Sprintf("key %d of %d", r%10, w)
					l, err := c.TryLock(ctx, key)
					if err == nil {
						err = l.Unlock(ctx)
					}
					if err != nil && failures.Add(1) <= 5 {
						t.Errorf("%s: %v", key, err)
					}
					done.Add(1)
				}
			})
		}
		wg.Wait()
	}
	var before, after size
	var warm, done atomic.Int32
	work(pairs/10, &warm)
	before.measure()

	ups := p.whileMastersDie(&done, 200, []int{2}, func() { work(pairs, &done) })
	if n := failures.Load(); n > 0 || done.Load() != pairs {
		t.Errorf("%d of %d failed", n, done.Load())
	}
	if ups < 5 {
		t.Errorf("the master went down and up only %d times", ups)
	}
	awaitConnected(t, c, 2)
	for w := range workers {
		for r := range 10 {
			p.wantFree(fmt.Sprintf("key %d of %d", r, w))
		}
	}
	after.measure()
	t.Logf("the master went down %d times; %v before, %v after", ups, before, after)
	if after.goroutines > before.goroutines+2 {
		t.Errorf("%d goroutines, were %d", after.goroutines, before.goroutines)
	}
	if after.heap > before.heap+4<<20 {
		t.Errorf("%d bytes of heap, were %d", after.heap, before.heap)
	}
}

// size is how large this process is.
type size struct {
	goroutines int
	heap       uint64
}

func (s *size) measure() {
	// Twice: what a sync.Pool keeps survives one collection.
	for range 3 {
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	s.goroutines, s.heap = runtime.NumGoroutine(), m.HeapAlloc
}

func (s size) String() string {
	return fmt.Sprintf("%d goroutines and %d KiB", s.goroutines, s.heap>>10)
}

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

	ups := p.whileItDies(2, &done, 200, func() { work(pairs, &done) })
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

// whileItDies runs f while a master is killed, and started again once progress has grown by
// some without it, again and again. It returns how often.
func (p *processes) whileItDies(i int, progress *atomic.Int32, some int32, f func()) (times int) {
	p.t.Helper()
	finished := make(chan struct{})
	go func() { defer close(finished); f() }()
	over := func() bool {
		select {
		case <-finished:
			return true
		default:
			return false
		}
	}
	grown := func(what string) {
		p.t.Helper()
		before := progress.Load()
		eventually(p.t, "there is progress "+what, func() bool { return over() || progress.Load() >= before+some })
	}
	for ; !over(); times++ {
		p.kill(i)
		grown("without a master")
		p.restart(i)
		grown("with it")
	}
	return times
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

package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/redlock"
)

// A holding says how many locks to hold, and for how long.
type holding struct {
	locks int
	ttl   time.Duration
	held  time.Duration // for how long; masters 0 and 1 are killed after a third and two thirds of it
}

type holdingCost struct {
	lost       int64         // locks; must be 0
	renewals   int64         // that succeeded
	failed     int64         // renewals that failed and were tried again
	cpu        time.Duration // of this process, while it held
	took       time.Duration // how long the locks were held
	bytes      float64       // of live heap a lock
	goroutines int           // the most at one time, beyond those with no lock held
	closed     time.Duration // time that Close took for half of the locks
	least      time.Duration // the shortest validity that a lock had left at the end
}

// BenchmarkHeld holds 100,000 locks with a TTL of 30 s for a minute, while two of
// the five masters are killed. It fails if any lock is lost. HELD_LOCKS and
// HELD_FOR (a duration) change the numbers.
//
//	lost/op             locks that were lost: 0
//	renewals/s          renewals that succeeded
//	failed-renewals/op  renewals that had to be tried again
//	client-cpu-%        processor time of this process while holding, in % of one core
//	cpu-µs/renewal      the same for each renewal
//	B/lock              live heap that a held lock needs, without connections
//	goroutines/op       the most at one time, beyond those without any lock
//	least-left-s        the shortest validity left at the end
//	close-s             what Close took to release half of them
func BenchmarkHeld(b *testing.B) {
	h := holding{locks: 100_000, ttl: 30 * time.Second, held: time.Minute}
	if s := os.Getenv("HELD_LOCKS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			b.Fatalf("HELD_LOCKS=%s: want a number, 1 or more", s)
		}
		h.locks = n
	}
	if s := os.Getenv("HELD_FOR"); s != "" {
		d, err := time.ParseDuration(s)
		if err != nil || d <= 0 {
			b.Fatalf("HELD_FOR=%s: want a duration", s)
		}
		h.held = d
	}
	masters := redistest.Start(b, masterCount, redistest.Config{})
	b.Run(fmt.Sprintf("lib=redquorum/locks=%d", h.locks), func(b *testing.B) {
		for range b.N {
			cost := h.run(b, masters)
			if cost.lost > 0 {
				b.Errorf("%d of %d locks were lost", cost.lost, h.locks)
			}
			b.Logf("%+v", cost)
			seconds := cost.took.Seconds()
			b.ReportMetric(float64(cost.lost), "lost/op")
			b.ReportMetric(float64(cost.renewals)/seconds, "renewals/s")
			b.ReportMetric(float64(cost.failed), "failed-renewals/op")
			b.ReportMetric(100*cost.cpu.Seconds()/seconds, "client-cpu-%")
			b.ReportMetric(microseconds(cost.cpu)/float64(max(cost.renewals, 1)), "cpu-µs/renewal")
			b.ReportMetric(cost.bytes, "B/lock")
			b.ReportMetric(float64(cost.goroutines), "goroutines/op")
			b.ReportMetric(cost.least.Seconds(), "least-left-s")
			b.ReportMetric(cost.closed.Seconds(), "close-s")
		}
	})
}

// This is BenchmarkHeld in short. Processor time is not checked, because it depends on the
// race detector and on how busy the machine is.
func TestHeldLocksSurviveTwoDeadMasters(t *testing.T) {
	h := holding{locks: 2000, ttl: 3 * time.Second, held: 6 * time.Second}
	cost := h.run(t, redistest.Start(t, masterCount, redistest.Config{}))
	t.Logf("%+v", cost)
	if cost.lost > 0 {
		t.Errorf("%d of %d locks were lost", cost.lost, h.locks)
	}
	// A lock is renewed about once a second. 4 times in 6 s leaves room for a slow machine.
	if least := int64(h.locks) * 4; cost.renewals < least {
		t.Errorf("%d renewals: want %d at least", cost.renewals, least)
	}
	if cost.goroutines > 10 {
		t.Errorf("%d goroutines more than with no lock held", cost.goroutines)
	}
	if cost.bytes > 2048 {
		t.Errorf("%.0f bytes a lock", cost.bytes)
	}
}

// run locks, holds and unlocks. All masters run again when it returns.
func (h *holding) run(tb testing.TB, masters *redistest.Cluster) (cost holdingCost) {
	tb.Helper()
	var lost, renewed, failed atomic.Int64
	client, err := redlock.Open(masters.URLs(), redlock.WithTTL(h.ttl), redlock.WithTrace(&redlock.Trace{
		Lost: func(*redlock.Lock, *redlock.LostError) { lost.Add(1) },
		Renewal: func(i redlock.ExtendInfo) {
			if i.Err != nil {
				failed.Add(1)
			} else {
				renewed.Add(1)
			}
		},
	}))
	if err != nil {
		tb.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(tb.Context(), connectBound)
	defer cancel()
	if err := (&redquorumPeer{client}).connect(ctx, 0); err != nil {
		tb.Fatal(err)
	}
	locks := make([]*redlock.Lock, h.locks)
	// The first lock makes what the client keeps for all locks.
	warm, err := client.TryLock(ctx, "held:warm")
	if err != nil {
		tb.Fatal(err)
	}
	if err := warm.Unlock(ctx); err != nil {
		tb.Fatal(err)
	}
	goroutines, heap := runtime.NumGoroutine(), liveHeap()

	if err := eachOf(h.locks, func(i int) (err error) {
		locks[i], err = client.TryLock(tb.Context(), fmt.Sprintf("held:%d", i))
		return err
	}); err != nil {
		tb.Fatal(err)
	}
	cost.bytes = float64(liveHeap()-heap) / float64(h.locks)

	began, cpu := time.Now(), clientCPU(tb)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for killed := 0; time.Since(began) < h.held; <-tick.C {
		cost.goroutines = max(cost.goroutines, runtime.NumGoroutine()-goroutines)
		if killed < 2 && time.Since(began) > h.held*time.Duration(killed+1)/3 {
			if err := masters.Masters[killed].Kill(); err != nil {
				tb.Fatal(err)
			}
			killed++
		}
	}
	cost.took, cost.cpu = time.Since(began), clientCPU(tb)-cpu
	cost.renewals, cost.failed = renewed.Load(), failed.Load()
	cost.least = h.ttl
	for _, l := range locks {
		cost.least = min(cost.least, l.Remaining())
	}
	wantKeys(tb, masters.Masters[2:], h.locks)
	cost.lost = lost.Load()

	// Unlock releases the first half, Close the rest.
	if err := eachOf(h.locks/2, func(i int) error {
		// The release is sent even if no answer comes in time: wantKeys checks that.
		err := locks[i].Unlock(tb.Context())
		if errors.Is(err, redlock.ErrLost) || errors.Is(err, redlock.ErrNoQuorum) {
			return nil
		}
		return err
	}); err != nil {
		tb.Error(err)
	}
	wantKeys(tb, masters.Masters[2:], h.locks-h.locks/2)
	closing := time.Now()
	if err := client.Close(); err != nil {
		tb.Error(err)
	}
	cost.closed = time.Since(closing)
	wantKeys(tb, masters.Masters[2:], 0)
	for _, m := range masters.Masters[:2] {
		if err := m.Restart(tb.Context(), false); err != nil {
			tb.Fatal(err)
		}
	}
	return cost
}

// eachOf runs f for 0 to n-1 on enough goroutines to keep the masters busy.
func eachOf(n int, f func(i int) error) error {
	var next atomic.Int64
	var wg sync.WaitGroup
	var first atomic.Pointer[error]
	for range 64 {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				if err := f(int(i)); err != nil {
					first.CompareAndSwap(nil, &err)
					return
				}
			}
		})
	}
	wg.Wait()
	if err := first.Load(); err != nil {
		return *err
	}
	return nil
}

// liveHeap is the heap after two garbage collections: what a sync.Pool keeps survives the
// first.
func liveHeap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// wantKeys fails unless each of the masters soon has n keys, not counting the guard's
// marker and its digest of the list.
func wantKeys(tb testing.TB, masters []*redistest.Server, n int) {
	tb.Helper()
	for i, m := range masters {
		var got int
		for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
			var err error
			if got, err = redis.Int(m.Do("DBSIZE")); err != nil {
				tb.Fatal(err)
			}
			if got -= 2; got == n {
				break
			}
		}
		if got != n {
			tb.Errorf("of those left, master %d has %d keys: want %d", i, got, n)
		}
	}
}

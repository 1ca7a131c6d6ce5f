package bench

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	// warmUpPairs are run by every goroutine before the clock starts: they load
	// the scripts into the masters and fill what the libraries reuse.
	warmUpPairs = 3
	// connectBound is for 1,024 connections to each of five masters.
	connectBound = 30 * time.Second
	// mostFailures is the share of the pairs that may fail, beside one for every
	// goroutine. On healthy masters none does. But where the machine stands still for
	// longer than a library waits for a master, all attempts under way may fail. That
	// does not invalidate the others.
	mostFailures = 0.001
)

// A crew is a fixed number of goroutines that share the pairs of a benchmark. A new
// pair goes to whichever asks first, so all are at work until the end. With a share for
// each, the last one would have the masters for itself.
type crew struct {
	workers []worker
	failed  atomic.Int64
	first   atomic.Pointer[error] // of those that failed
}

// newCrew connects the peer and has n goroutines run some pairs, each on a key
// of its own.
func newCrew(b *testing.B, p peer, name string, n int) *crew {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), connectBound)
	defer cancel()
	if err := p.connect(ctx, n); err != nil {
		b.Fatal(err)
	}
	c := &crew{}
	for i := range n {
		c.workers = append(c.workers, p.worker(fmt.Sprintf("bench:%s:%d", name, i)))
	}
	c.run(n*warmUpPairs, nil, func() {})
	c.checkFailures(b, n*warmUpPairs)
	c.failed.Store(0)
	return c
}

// checkFailures ends the benchmark where too many of so many pairs failed.
func (c *crew) checkFailures(b *testing.B, pairs int) {
	b.Helper()
	if failed := c.failed.Load(); float64(failed) > float64(len(c.workers))+mostFailures*float64(pairs) {
		b.Fatalf("%d of %d pairs failed, the first: %v", failed, pairs, *c.first.Load())
	}
}

// run has the crew do so many pairs, and notes in took how long each lasted,
// unless it is nil. It calls started when all goroutines are there and waiting,
// so that their start is none of the pairs' cost, and returns after the last.
func (c *crew) run(pairs int, took []time.Duration, started func()) {
	var next atomic.Int64
	var ready, done sync.WaitGroup
	begin := make(chan struct{})
	for _, w := range c.workers {
		ready.Add(1)
		done.Go(func() {
			ready.Done()
			<-begin
			for i := next.Add(1) - 1; i < int64(pairs); i = next.Add(1) - 1 {
				t := time.Now()
				if err := pair(w); err != nil {
					c.note(err)
				}
				if took != nil {
					took[i] = time.Since(t)
				}
			}
		})
	}
	ready.Wait()
	started()
	close(begin)
	done.Wait()
}

// note counts a failure. Within run, where its address is taken, the error of
// every pair would be on the heap.
func (c *crew) note(err error) {
	c.failed.Add(1)
	c.first.CompareAndSwap(nil, &err)
}

func pair(w worker) error {
	if err := w.lock(context.Background()); err != nil {
		return err
	}
	return w.unlock(context.Background())
}

// measure runs b.N pairs and reports what they took. It leaves the timer
// stopped.
func (c *crew) measure(b *testing.B) {
	b.Helper()
	took := make([]time.Duration, b.N)
	var cpu time.Duration
	b.ReportAllocs()
	c.run(b.N, took, func() {
		b.ResetTimer()
		cpu = clientCPU(b)
	})
	cpu = clientCPU(b) - cpu
	b.StopTimer()

	c.checkFailures(b, b.N)
	failed := float64(c.failed.Load())
	p50, p99 := percentiles(took)
	b.ReportMetric((float64(b.N)-failed)/b.Elapsed().Seconds(), "pairs/s")
	b.ReportMetric(microseconds(p50), "p50-µs")
	b.ReportMetric(microseconds(p99), "p99-µs")
	b.ReportMetric(microseconds(cpu)/float64(b.N), "client-cpu-µs/op")
	b.ReportMetric(failed/float64(b.N), "failed/op")
}

func microseconds(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
func milliseconds(d time.Duration) float64 { return microseconds(d) / 1000 }

// percentiles returns the median and the 99th percentile, by nearest rank: values that
// occurred. It sorts its argument, which must not be empty.
func percentiles(took []time.Duration) (p50, p99 time.Duration) {
	slices.Sort(took)
	return took[(len(took)*50+99)/100-1], took[(len(took)*99+99)/100-1]
}

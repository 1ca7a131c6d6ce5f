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
	// warmUpPairs is how many pairs every goroutine runs before the clock starts. They load
	// the scripts into the masters and fill the pools of the libraries.
	warmUpPairs = 3
	// connectBound is enough for 1,024 connections to each of five masters.
	connectBound = 30 * time.Second
	// mostFailures is the fraction of the pairs that may fail, in addition to one for every
	// goroutine. On healthy masters none fails. If the machine stops for longer than a
	// library waits for a master, all current attempts may fail; the others stay valid.
	mostFailures = 0.001
)

// A crew is a fixed number of goroutines that share the pairs of a benchmark. The next
// pair goes to the first free goroutine, so all work until the end. With a fixed number
// for each, the last goroutine would have the masters for itself.
type crew struct {
	workers []worker
	failed  atomic.Int64
	first   atomic.Pointer[error] // of those that failed
}

// newCrew connects the peer and warms it up with n goroutines, each with its own key.
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

// checkFailures ends the benchmark if too many of the pairs failed.
func (c *crew) checkFailures(b *testing.B, pairs int) {
	b.Helper()
	if failed := c.failed.Load(); float64(failed) > float64(len(c.workers))+mostFailures*float64(pairs) {
		b.Fatalf("%d of %d pairs failed, the first: %v", failed, pairs, *c.first.Load())
	}
}

// run makes the crew run the pairs and records in took how long each lasted, unless took
// is nil. It calls started when all goroutines are ready, so that starting them is not
// measured. It returns after the last pair.
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

// note counts a failure. It is a function because it takes the address of the error:
// inside run, the error of every pair would then be on the heap.
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

// measure runs b.N pairs and reports what they cost. It leaves the timer stopped.
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

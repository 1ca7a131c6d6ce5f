package bench

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-redsync/redsync/v4"

	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/redlock"
)

const (
	contendedHold  = time.Millisecond
	contendedPause = 10 * time.Millisecond
	contendedBound = time.Minute // for one acquisition
	// acquisitions is how many the contenders make together in one operation. A hundred
	// would be over before all contenders have come twice.
	acquisitions = 1000
)

// A contender has its own client, as a separate process would have.
type contender struct {
	acquire  acquire
	attempts atomic.Int64
	waits    []time.Duration
}

// contenders are the kinds of contenders: redsync, redquorum polling as redsync does by
// default, and redquorum as it waits by default.
var contenders = []struct {
	lib  string
	open func(urls []string, key string, attempts *atomic.Int64) (peer, acquire, error)
}{
	{"redsync", contendingRedsync},
	{"redquorum-polling", contendingRedquorum(redlock.WithBackoff(randomDelay))},
	{"redquorum", contendingRedquorum()},
}

func randomDelay(int) time.Duration {
	return 50*time.Millisecond + rand.N(200*time.Millisecond)
}

func contendingRedsync(urls []string, key string, attempts *atomic.Int64) (peer, acquire, error) {
	p, err := openRedsync(urls)
	if err != nil {
		return nil, nil, err
	}
	w := &redsyncWorker{p.(*redsyncPeer).mutex(key, redsync.WithTries(math.MaxInt32), redsync.WithRetryDelayFunc(func(tries int) time.Duration {
		attempts.Add(1)
		return randomDelay(tries)
	}))}
	return p, func(ctx context.Context) (release, error) {
		attempts.Add(1)
		return w.unlock, w.wait(ctx)
	}, nil
}

func contendingRedquorum(opts ...redlock.Option) func([]string, string, *atomic.Int64) (peer, acquire, error) {
	return func(urls []string, key string, attempts *atomic.Int64) (peer, acquire, error) {
		p, err := openRedquorumAt(urls, redlock.GuardStandard, append(slices.Clone(opts), redlock.WithTrace(&redlock.Trace{
			Wait: func(info redlock.WaitInfo) { attempts.Add(int64(info.Attempts)) },
		}))...)
		if err != nil {
			return nil, nil, err
		}
		return p, waiting(p.worker(key)), nil
	}
}

// BenchmarkContended measures one contended key: each contender acquires it, holds it for
// 1 ms, pauses for 10 ms, and repeats. An operation is a thousand acquisitions.
func BenchmarkContended(b *testing.B) {
	masters := redistest.Start(b, masterCount, redistest.Config{})
	for _, n := range []int{4, 16, 64} {
		for _, sort := range contenders {
			b.Run(fmt.Sprintf("lib=%s/contenders=%d", sort.lib, n), func(b *testing.B) {
				all := make([]*contender, n)
				for i := range all {
					all[i] = &contender{}
					p, acquire, err := sort.open(masters.URLs(), fmt.Sprintf("contended:%s:%d", sort.lib, n), &all[i].attempts)
					if err != nil {
						b.Fatal(err)
					}
					b.Cleanup(func() { _ = p.close() })
					if err := p.connect(b.Context(), 1); err != nil {
						b.Fatal(err)
					}
					all[i].acquire = acquire
				}
				contend(b, all)
				reportContended(b, all)
			})
		}
	}
}

// contend lets the contenders acquire the lock, and stops the timer.
func contend(b *testing.B, all []*contender) {
	b.Helper()
	var next atomic.Int64
	var inside atomic.Int32
	var wg sync.WaitGroup
	b.ResetTimer()
	for i, c := range all {
		c.attempts.Store(0)
		wg.Go(func() {
			for next.Add(1) <= int64(b.N)*acquisitions {
				ctx, cancel := context.WithTimeout(context.Background(), contendedBound)
				began := time.Now()
				free, err := c.acquire(ctx)
				if err != nil {
					cancel()
					b.Errorf("contender %d: %v", i, err)
					return
				}
				c.waits = append(c.waits, time.Since(began))
				if inside.Add(1) > 1 {
					b.Error("two hold the lock")
				}
				time.Sleep(contendedHold)
				inside.Add(-1)
				if err := free(ctx); err != nil {
					b.Errorf("contender %d: %v", i, err)
				}
				cancel()
				time.Sleep(contendedPause)
			}
		})
	}
	wg.Wait()
	b.StopTimer()
}

// reportContended reports how often the contenders got the lock, and how evenly.
func reportContended(b *testing.B, all []*contender) {
	b.Helper()
	if b.Failed() {
		return
	}
	var squares float64
	var waits []time.Duration
	var attempts int64
	for _, c := range all {
		waits = append(waits, c.waits...)
		squares += float64(len(c.waits)) * float64(len(c.waits))
		attempts += c.attempts.Load()
	}
	sum := float64(len(waits))
	p50, p99 := percentiles(waits)
	b.ReportMetric(sum/b.Elapsed().Seconds(), "acq/s")
	b.ReportMetric(milliseconds(p50), "p50-wait-ms")
	b.ReportMetric(milliseconds(p99), "p99-wait-ms")
	// Jain's index of the acquisitions: 1 when all got as many, 1/n when one got all.
	b.ReportMetric(sum*sum/(float64(len(all))*squares), "jain")
	b.ReportMetric(float64(attempts)/sum, "attempts/acq")
}

package bench

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
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
	// acquisitions are how many the contenders make together in an operation: those of a
	// hundred are over before all have come twice.
	acquisitions = 1000
)

// A contender has a client of its own, as a process of its own would.
type contender struct {
	acquire  acquire
	attempts atomic.Int64
	waits    []time.Duration
}

// joins has a peer connected to all masters for as long as the benchmark lasts.
func joins(b *testing.B, p peer, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = p.close() })
	if err := p.connect(b.Context(), 1); err != nil {
		b.Fatal(err)
	}
}

// polling has a client wait as redsync does by default.
var polling = redlock.WithBackoff(randomDelay)

func randomDelay(int) time.Duration {
	return 50*time.Millisecond + rand.N(200*time.Millisecond)
}

// waitings are the ways in which clients of redquorum wait.
var waitings = []struct {
	name, lib string
	opts      []redlock.Option
}{
	{"polling", "redquorum-polling", []redlock.Option{polling}},
	{"queue", "redquorum", nil},
}

// newContender is one with a client of redquorum; the caller says what it acquires.
func newContender(b *testing.B, masters *redistest.Cluster, opts []redlock.Option) (*contender, *redlock.Client) {
	b.Helper()
	c := &contender{}
	p, err := openRedquorumAt(masters.URLs(), redlock.GuardStandard, append(opts, redlock.WithTrace(&redlock.Trace{
		Wait: func(info redlock.WaitInfo) { c.attempts.Add(int64(info.Attempts)) },
	}))...)
	joins(b, p, err)
	return c, p.(*redquorumPeer).client
}

func newRedsyncContender(b *testing.B, masters *redistest.Cluster, key string) *contender {
	b.Helper()
	p, err := openRedsync(masters.URLs())
	joins(b, p, err)
	c := &contender{}
	w := &redsyncWorker{p.(*redsyncPeer).mutex(key, redsync.WithTries(math.MaxInt32), redsync.WithRetryDelayFunc(func(tries int) time.Duration {
		c.attempts.Add(1)
		return randomDelay(tries)
	}))}
	c.acquire = func(ctx context.Context) (release, error) {
		c.attempts.Add(1)
		return w.unlock, w.wait(ctx)
	}
	return c
}

// BenchmarkContended is one hot key: every contender takes it, holds it for
// 1 ms, pauses for 10 ms, and comes again. An operation is a thousand
// acquisitions.
func BenchmarkContended(b *testing.B) {
	masters := redistest.Start(b, masterCount, redistest.Config{})
	for _, n := range []int{4, 16, 64} {
		run := func(lib string, open func(b *testing.B, key string) *contender) {
			b.Run(fmt.Sprintf("lib=%s/contenders=%d", lib, n), func(b *testing.B) {
				all := make([]*contender, n)
				for i := range all {
					all[i] = open(b, fmt.Sprintf("contended:%s:%d", lib, n))
				}
				contend(b, all)
				reportContended(b, all)
			})
		}
		run("redsync", func(b *testing.B, key string) *contender { return newRedsyncContender(b, masters, key) })
		for _, how := range waitings {
			run(how.lib, func(b *testing.B, key string) *contender {
				c, client := newContender(b, masters, how.opts)
				c.acquire = func(ctx context.Context) (release, error) {
					l, err := client.Lock(ctx, key)
					if err != nil {
						return nil, err
					}
					return l.Unlock, nil
				}
				return c
			})
		}
	}
}

// contend has the contenders acquire the lock, and stops the timer.
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
					b.Error("too many hold the lock")
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

// reportContended says how much the contenders got together, and how evenly.
func reportContended(b *testing.B, all []*contender) {
	b.Helper()
	if b.Failed() {
		return
	}
	var squares float64
	var waits []time.Duration
	var attempts int64
	for _, c := range all {
		squares += float64(len(c.waits)) * float64(len(c.waits))
		attempts += c.attempts.Load()
		waits = append(waits, c.waits...)
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

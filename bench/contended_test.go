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
)

// A contender has a client of its own, as a process of its own would.
type contender struct {
	peer     peer
	acquire  func(ctx context.Context) (release func() error, err error)
	attempts atomic.Int64
}

// contenders are the libraries and ways of waiting that are measured.
var contenders = []struct {
	name string
	open func(urls []string, key string) (*contender, error)
}{
	{"redsync", openRedsyncContender},
	{"redquorum-polling", func(urls []string, key string) (*contender, error) {
		return openRedquorumContender(urls, key, redlock.WithBackoff(randomDelay))
	}},
	{"redquorum", func(urls []string, key string) (*contender, error) { return openRedquorumContender(urls, key) }},
}

// randomDelay is the pause of those that poll, redsync's default as well.
func randomDelay(int) time.Duration {
	return 50*time.Millisecond + rand.N(200*time.Millisecond)
}

func openRedquorumContender(urls []string, key string, opts ...redlock.Option) (*contender, error) {
	c := &contender{}
	client, err := redlock.Open(urls, append(opts, redlock.WithTTL(ttl), redlock.WithTrace(&redlock.Trace{
		Wait: func(info redlock.WaitInfo) { c.attempts.Add(int64(info.Attempts)) },
	}))...)
	if err != nil {
		return nil, err
	}
	c.peer = &redquorumPeer{client}
	c.acquire = func(ctx context.Context) (func() error, error) {
		l, err := client.Lock(ctx, key)
		if err != nil {
			return nil, err
		}
		return func() error { return l.Unlock(ctx) }, nil
	}
	return c, nil
}

func openRedsyncContender(urls []string, key string) (*contender, error) {
	p, err := openRedsync(urls)
	if err != nil {
		return nil, err
	}
	c := &contender{peer: p}
	m := p.(*redsyncPeer).sync.NewMutex(key, redsync.WithExpiry(ttl), redsync.WithTries(math.MaxInt32),
		redsync.WithRetryDelayFunc(func(tries int) time.Duration {
			c.attempts.Add(1)
			return randomDelay(tries)
		}))
	w := &redsyncWorker{m}
	// Not w.lock, which makes one attempt.
	c.acquire = func(ctx context.Context) (func() error, error) {
		c.attempts.Add(1)
		if err := m.LockContext(ctx); err != nil {
			return nil, err
		}
		return func() error { return w.unlock(ctx) }, nil
	}
	return c, nil
}

// BenchmarkContended is one hot key: every contender takes it, holds it for
// 1 ms, pauses for 10 ms, and comes again. An operation is a thousand
// acquisitions: those of a hundred are over before all have come twice.
func BenchmarkContended(b *testing.B) {
	masters := redistest.Start(b, masterCount, redistest.Config{})
	for _, n := range []int{4, 16, 64} {
		for _, lib := range contenders {
			b.Run(fmt.Sprintf("lib=%s/contenders=%d", lib.name, n), func(b *testing.B) {
				key := fmt.Sprintf("contended:%s:%d", lib.name, n)
				all := make([]*contender, n)
				for i := range all {
					c, err := lib.open(masters.URLs(), key)
					if err != nil {
						b.Fatal(err)
					}
					b.Cleanup(func() { _ = c.peer.close() })
					if err := c.peer.connect(b.Context(), 1); err != nil {
						b.Fatal(err)
					}
					all[i] = c
				}
				contend(b, all, 1)
			})
		}
	}
}

// acquisitions are how many the contenders make together in an operation.
const acquisitions = 1000

// contend has the contenders acquire the lock, which so many of them may have
// at a time, and reports.
func contend(b *testing.B, all []*contender, most int32) {
	b.Helper()
	var next atomic.Int64
	var inside atomic.Int32
	waits := make([][]time.Duration, len(all))
	var wg sync.WaitGroup
	b.ResetTimer()
	for i, c := range all {
		c.attempts.Store(0)
		wg.Go(func() {
			for next.Add(1) <= int64(b.N)*acquisitions {
				ctx, cancel := context.WithTimeout(context.Background(), contendedBound)
				began := time.Now()
				release, err := c.acquire(ctx)
				if err != nil {
					cancel()
					b.Errorf("contender %d: %v", i, err)
					return
				}
				waits[i] = append(waits[i], time.Since(began))
				if inside.Add(1) > most {
					b.Error("too many hold the lock")
				}
				time.Sleep(contendedHold)
				inside.Add(-1)
				if err := release(); err != nil {
					b.Errorf("contender %d: %v", i, err)
				}
				cancel()
				time.Sleep(contendedPause)
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	if b.Failed() {
		return
	}
	var took []time.Duration
	var sum, squares float64
	var attempts int64
	for i, w := range waits {
		took = append(took, w...)
		sum += float64(len(w))
		squares += float64(len(w)) * float64(len(w))
		attempts += all[i].attempts.Load()
	}
	p50, p99 := percentiles(took)
	b.ReportMetric(sum/b.Elapsed().Seconds(), "acq/s")
	b.ReportMetric(float64(p50)/float64(time.Millisecond), "p50-wait-ms")
	b.ReportMetric(float64(p99)/float64(time.Millisecond), "p99-wait-ms")
	// Jain's index of the acquisitions: 1 when all got as many, 1/n when one got all.
	b.ReportMetric(sum*sum/(float64(len(all))*squares), "jain")
	b.ReportMetric(float64(attempts)/sum, "attempts/acq")
}

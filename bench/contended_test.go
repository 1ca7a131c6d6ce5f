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
	share    int32 // of the places that there are for those who hold the lock
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
	c := &contender{share: 1}
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
	c := &contender{share: 1}
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
				contend(b, all, 1)
				reportContended(b, all)
			})
		}
		run("redsync", func(b *testing.B, key string) *contender { return newRedsyncContender(b, masters, key) })
		for _, how := range waitings {
			run(how.lib, func(b *testing.B, key string) *contender {
				c, client := newContender(b, masters, how.opts)
				c.acquire = func(ctx context.Context) (release, error) { return released(client.Lock(ctx, key)) }
				return c
			})
		}
	}
}

// BenchmarkContendedSorts is BenchmarkContended for sets of keys that overlap
// and for one of several keys; waiting in queues, and polling.
func BenchmarkContendedSorts(b *testing.B) {
	const contenders = 16
	masters := redistest.Start(b, masterCount, redistest.Config{})
	for _, sort := range []struct {
		name string
		most int32 // how many may hold one at a time
		take func(c *redlock.Client, i int) acquire
	}{
		// Two of three keys: any two of these sets share a key.
		{"all", 1, func(c *redlock.Client, i int) acquire {
			keys := []string{fmt.Sprint("all:", i%3), fmt.Sprint("all:", (i+1)%3)}
			return func(ctx context.Context) (release, error) { return released(c.LockAll(ctx, keys)) }
		}},
		{"any", 5, func(c *redlock.Client, _ int) acquire {
			keys := []string{"any:1", "any:2", "any:3", "any:4", "any:5"}
			return func(ctx context.Context) (release, error) { return released(c.LockAny(ctx, keys)) }
		}},
	} {
		for _, how := range waitings {
			b.Run(fmt.Sprintf("sort=%s/waiting=%s", sort.name, how.name), func(b *testing.B) {
				all := make([]*contender, contenders)
				for i := range all {
					c, client := newContender(b, masters, how.opts)
					c.acquire, all[i] = sort.take(client, i), c
				}
				contend(b, all, sort.most)
				reportContended(b, all)
			})
		}
	}
}

// BenchmarkContendedReaders is one hot key for readers and writers: of 16 contenders,
// each a client of its own, every fourth writes. Each holds the lock for 1 ms, pauses for
// 10 ms, and comes again. An operation is a thousand acquisitions. redsync has no readers.
func BenchmarkContendedReaders(b *testing.B) {
	const contenders = 16
	masters := redistest.Start(b, masterCount, redistest.Config{})
	for _, how := range waitings {
		b.Run("lib="+how.lib, func(b *testing.B) {
			var all, readers, writers []*contender
			for i := range contenders {
				c, client := newContender(b, masters, how.opts)
				m := client.RWMutex("contended:readers:" + how.lib)
				if i%4 == 0 {
					c.share = contenders // nobody is beside a writer
					c.acquire = func(ctx context.Context) (release, error) { return released(m.Lock(ctx)) }
					writers = append(writers, c)
				} else {
					c.acquire = func(ctx context.Context) (release, error) { return released(m.RLock(ctx)) }
					readers = append(readers, c)
				}
				all = append(all, c)
			}
			contend(b, all, contenders)
			b.ReportMetric(0, "ns/op")
			for name, these := range map[string][]*contender{"reads": readers, "writes": writers} {
				waits := waitsOf(these)
				if len(waits) == 0 {
					continue
				}
				p50, p99 := percentiles(waits)
				b.ReportMetric(float64(len(waits))/b.Elapsed().Seconds(), name+"/s")
				b.ReportMetric(milliseconds(p50), name+"-p50-ms")
				b.ReportMetric(milliseconds(p99), name+"-p99-ms")
			}
		})
	}
}

// contend has the contenders acquire the lock, for which there are so many places, and
// stops the timer.
func contend(b *testing.B, all []*contender, places int32) {
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
				if inside.Add(c.share) > places {
					b.Error("too many hold the lock")
				}
				time.Sleep(contendedHold)
				inside.Add(-c.share)
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

func waitsOf(all []*contender) (waits []time.Duration) {
	for _, c := range all {
		waits = append(waits, c.waits...)
	}
	return waits
}

// reportContended says how much the contenders got together, and how evenly.
func reportContended(b *testing.B, all []*contender) {
	b.Helper()
	if b.Failed() {
		return
	}
	var squares float64
	var attempts int64
	for _, c := range all {
		squares += float64(len(c.waits)) * float64(len(c.waits))
		attempts += c.attempts.Load()
	}
	waits := waitsOf(all)
	sum := float64(len(waits))
	p50, p99 := percentiles(waits)
	b.ReportMetric(sum/b.Elapsed().Seconds(), "acq/s")
	b.ReportMetric(milliseconds(p50), "p50-wait-ms")
	b.ReportMetric(milliseconds(p99), "p99-wait-ms")
	// Jain's index of the acquisitions: 1 when all got as many, 1/n when one got all.
	b.ReportMetric(sum*sum/(float64(len(all))*squares), "jain")
	b.ReportMetric(float64(attempts)/sum, "attempts/acq")
}

package bench

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/redlock"
)

// BenchmarkContendedReaders is one hot key for readers and writers: of 16 contenders,
// each a client of its own, every fourth writes. Each holds the lock for 1 ms, pauses for
// 10 ms, and comes again. An operation is a thousand acquisitions.
func BenchmarkContendedReaders(b *testing.B) {
	masters := redistest.Start(b, masterCount, redistest.Config{})
	for _, lib := range contenders {
		if lib.name == "redsync" { // it has no readers
			continue
		}
		b.Run("lib="+lib.name, func(b *testing.B) {
			var opts []redlock.Option
			if lib.name == "redquorum-polling" {
				opts = append(opts, redlock.WithBackoff(randomDelay))
			}
			shared := make([]sharedContender, 16)
			for i := range shared {
				c, err := redlock.Open(masters.URLs(), append(opts, redlock.WithTTL(ttl))...)
				if err != nil {
					b.Fatal(err)
				}
				b.Cleanup(func() { _ = c.Close() })
				if err := (&redquorumPeer{c}).connect(b.Context(), 1); err != nil {
					b.Fatal(err)
				}
				shared[i] = sharedContender{m: c.RWMutex("contended:readers:" + lib.name), writes: i%4 == 0}
			}
			share(b, shared)
		})
	}
}

// A sharedContender takes the lock for one of the two.
type sharedContender struct {
	m      *redlock.RWMutex
	writes bool
	waits  []time.Duration
}

// acquire waits for the lock, for contendedBound at the most.
func (c *sharedContender) acquire() (*redlock.Lock, error) {
	ctx, cancel := context.WithTimeout(context.Background(), contendedBound)
	defer cancel()
	if c.writes {
		return c.m.Lock(ctx)
	}
	return c.m.RLock(ctx)
}

// share has them acquire the lock, and reports acquisitions and waits of each sort.
func share(b *testing.B, all []sharedContender) {
	b.Helper()
	var next atomic.Int64
	var inside sync.RWMutex // what the lock promises
	var wg sync.WaitGroup
	b.ResetTimer()
	for i := range all {
		c := &all[i]
		wg.Go(func() {
			for next.Add(1) <= int64(b.N)*acquisitions {
				began := time.Now()
				l, err := c.acquire()
				if err != nil {
					b.Error(err)
					return
				}
				c.waits = append(c.waits, time.Since(began))
				if err := c.stay(&inside); err != nil {
					b.Error(err)
				}
				if err := l.Unlock(context.Background()); err != nil {
					b.Error(err)
					return
				}
				time.Sleep(contendedPause)
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	b.ReportMetric(0, "ns/op")
	for name, writes := range map[string]bool{"reads": false, "writes": true} {
		var waits []time.Duration
		for i := range all {
			if all[i].writes == writes {
				waits = append(waits, all[i].waits...)
			}
		}
		if len(waits) == 0 {
			continue
		}
		p50, p99 := percentiles(waits)
		b.ReportMetric(float64(len(waits))/b.Elapsed().Seconds(), name+"/s")
		b.ReportMetric(microseconds(p50)/1000, name+"-p50-ms")
		b.ReportMetric(microseconds(p99)/1000, name+"-p99-ms")
	}
}

// stay holds the lock, and fails where somebody is beside a writer.
func (c *sharedContender) stay(inside *sync.RWMutex) error {
	try, leave := inside.TryRLock, inside.RUnlock
	if c.writes {
		try, leave = inside.TryLock, inside.Unlock
	}
	if !try() {
		return fmt.Errorf("somebody is inside beside a writer (this one writes: %t)", c.writes)
	}
	time.Sleep(contendedHold)
	leave()
	return nil
}

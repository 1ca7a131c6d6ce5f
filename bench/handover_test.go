package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/redquorum/redquorum/internal/redistest"
)

const (
	// duos is how many pairs of clients hand over at the same time, each with its own key.
	// If the waiter polls, one pair would make only ten measurements a second.
	duos = 16
	// A holder keeps the lock for one to two times leastHold. That is enough for the other
	// client to be refused and to wait, and it leaves the masters idle most of the time:
	// this benchmark does not measure load.
	leastHold = 10 * time.Millisecond
)

// BenchmarkHandOver measures how long nobody holds a lock that a client waits for: from
// the call of Unlock in one client to the return of Lock in another. The two take turns
// and wait by their library's defaults. An operation is one hand-over of every duo; p50
// and p99 are for a single hand-over.
func BenchmarkHandOver(b *testing.B) {
	masters := redistest.Start(b, masterCount, redistest.Config{})
	for _, lib := range libraries {
		benchmarkPeer(b, lib, masters.URLs(), fmt.Sprintf("duos=%d", duos), func(b *testing.B, one peer) {
			other, err := lib.open(masters.URLs())
			if err != nil {
				b.Fatal(err)
			}
			defer func() {
				if err := other.close(); err != nil {
					b.Errorf("close %s: %v", lib.name, err)
				}
			}()
			ctx, cancel := context.WithTimeout(b.Context(), connectBound)
			defer cancel()
			if err := errors.Join(one.connect(ctx, duos), other.connect(ctx, duos)); err != nil {
				b.Fatal(err)
			}
			took, err := handOvers(b.Context(), [2]peer{one, other}, b.N, leastHold)
			if err != nil {
				b.Fatal(err)
			}
			p50, p99 := percentiles(took)
			b.ReportMetric(microseconds(p50), "p50-µs")
			b.ReportMetric(microseconds(p99), "p99-µs")
			b.ReportMetric(0, "ns/op") // would mostly be the time of the holds
		})
	}
}

// A waiter is a worker that can wait for its key.
type waiter interface {
	worker
	// wait returns an error when ctx ends, or earlier if the library's defaults say so.
	wait(ctx context.Context) error
}

func (w *redquorumWorker) wait(ctx context.Context) (err error) {
	w.held, err = w.client.Lock(ctx, w.key)
	return err
}

func (w *redsyncWorker) wait(ctx context.Context) error { return w.mutex.LockContext(ctx) }

// A release releases a lock that is held.
type release func(ctx context.Context) error

// An acquire waits for a lock.
type acquire func(ctx context.Context) (release, error)

// waiting returns the acquire of a worker, which waits until its key is free.
func waiting(w worker) acquire {
	return func(ctx context.Context) (release, error) { return w.unlock, w.(waiter).wait(ctx) }
}

// handOvers lets every duo make n hand-overs, each after one to two times the hold. It
// returns how long each took.
func handOvers(ctx context.Context, peers [2]peer, n int, hold time.Duration) ([]time.Duration, error) {
	took := make([]time.Duration, duos*n)
	errs := make([]error, duos)
	var wg sync.WaitGroup
	for i := range duos {
		key := fmt.Sprintf("bench:handover:%d", i)
		duo := [2]acquire{waiting(peers[0].worker(key)), waiting(peers[1].worker(key))}
		wg.Go(func() { errs[i] = alternate(ctx, duo, hold, took[i*n:(i+1)*n]) })
	}
	wg.Wait()
	return took, errors.Join(errs...)
}

// alternate hands the key over between the two, once for each element of took. Then nobody
// holds it.
func alternate(ctx context.Context, duo [2]acquire, hold time.Duration, took []time.Duration) error {
	free, err := duo[0](ctx)
	for i := 0; err == nil && i < len(took); i++ {
		took[i], free, err = handOver(ctx, free, duo[(i+1)%2], hold)
	}
	if err != nil {
		return err
	}
	return free(ctx)
}

// handOver releases the lock after one to two times the hold, while next waits for it. It
// returns when next holds it.
func handOver(ctx context.Context, free release, next acquire, hold time.Duration) (took time.Duration, held release, err error) {
	var locked time.Time
	failed := make(chan error, 1)
	go func() {
		var err error
		held, err = next(ctx)
		locked = time.Now()
		failed <- err
	}()
	time.Sleep(hold + rand.N(hold))
	unlocked := time.Now()
	err = free(ctx)
	err = errors.Join(err, <-failed)
	return locked.Sub(unlocked), held, err
}

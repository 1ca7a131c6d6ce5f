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
	// duos hand over at the same time, each on a key of its own: where the waiter
	// polls, one alone would make ten measurements a second.
	duos = 16
	// A holder keeps the lock for between leastHold and twice that: long enough
	// for the other to have been refused and to be waiting, and so long that the
	// masters are idle most of the time. What is measured is not a load.
	leastHold = 10 * time.Millisecond
)

// BenchmarkHandOver measures how long a lock that somebody waits for lies idle:
// from the call of Unlock in one client to the return of Lock in another. The
// two take turns, and wait by their library's defaults. An operation is one
// hand-over of every duo; p50 and p99 are those of a single one.
func BenchmarkHandOver(b *testing.B) {
	masters := redistest.Start(b, masterCount, redistest.Config{})
	for _, lib := range libraries {
		benchmarkNamed(b, lib, masters.URLs(), fmt.Sprintf("duos=%d", duos), func(b *testing.B, one peer) {
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
			took, err := handOvers(b.Context(), [2]peer{one, other}, b.N)
			if err != nil {
				b.Fatal(err)
			}
			p50, p99 := percentiles(took)
			b.ReportMetric(microseconds(p50), "p50-µs")
			b.ReportMetric(microseconds(p99), "p99-µs")
			b.ReportMetric(0, "ns/op") // is that of the holds
		})
	}
}

// A waiter is a worker that can wait for its key.
type waiter interface {
	worker
	// wait returns an error when ctx is over, or earlier where the library's
	// defaults say so.
	wait(ctx context.Context) error
}

func (w *redquorumWorker) wait(ctx context.Context) (err error) {
	w.held, err = w.client.Lock(ctx, w.key)
	return err
}

func (w *redsyncWorker) wait(ctx context.Context) error { return w.mutex.LockContext(ctx) }

// handOvers has every duo make n hand-overs, and returns how long each took.
func handOvers(ctx context.Context, peers [2]peer, n int) ([]time.Duration, error) {
	took := make([]time.Duration, duos*n)
	errs := make([]error, duos)
	var wg sync.WaitGroup
	for i := range duos {
		key := fmt.Sprintf("bench:handover:%d", i)
		duo := [2]waiter{peers[0].worker(key).(waiter), peers[1].worker(key).(waiter)}
		wg.Go(func() { errs[i] = alternate(ctx, duo, took[i*n:(i+1)*n]) })
	}
	wg.Wait()
	return took, errors.Join(errs...)
}

// alternate hands the key from one to the other as often as there is room for
// what it took. Nobody holds it afterwards.
func alternate(ctx context.Context, duo [2]waiter, took []time.Duration) error {
	holder, other := duo[0], duo[1]
	if err := holder.wait(ctx); err != nil {
		return err
	}
	for i := range took {
		var err error
		if took[i], err = handOver(ctx, holder, other); err != nil {
			return err
		}
		holder, other = other, holder
	}
	return holder.unlock(ctx)
}

// handOver returns when the other holds what the holder held.
func handOver(ctx context.Context, holder, other waiter) (time.Duration, error) {
	var locked time.Time
	failed := make(chan error, 1)
	go func() {
		err := other.wait(ctx)
		locked = time.Now()
		failed <- err
	}()
	time.Sleep(leastHold + rand.N(leastHold))
	unlocked := time.Now()
	unlockErr := holder.unlock(ctx)
	err := errors.Join(unlockErr, <-failed)
	return locked.Sub(unlocked), err
}

func TestHandOversAlternate(t *testing.T) {
	const key = "handed-over"
	for _, lib := range libraries {
		t.Run(lib.name, func(t *testing.T) {
			c := redistest.Start(t, masterCount, redistest.Config{})
			duo := [2]waiter{
				openWorker(t, lib.open, c, key).(waiter),
				openWorker(t, lib.open, c, key).(waiter),
			}
			room := make([]time.Duration, 3)
			if err := alternate(t.Context(), duo, room); err != nil {
				t.Fatal(err)
			}
			for i, took := range room {
				if took <= 0 {
					t.Errorf("hand-over %d took %v: want more, for the other locked after it was unlocked", i, took)
				}
			}
			if n, err := holders(c, key, duo[1].token()); n > masterCount/2 || err != nil {
				t.Errorf("%d masters have the last holder's token, error %v: want no quorum after Unlock", n, err)
			}
		})
	}
}

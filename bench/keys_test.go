package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/redquorum/redquorum/internal/redistest"
)

// BenchmarkKeys makes single attempts from 64 goroutines, each on a key drawn
// from so many: how the libraries do from one key that all want to a hundred
// thousand that nobody else wants. An attempt that finds its key taken is an
// operation as well, but no pair; taken/op is their share. Nobody waits.
func BenchmarkKeys(b *testing.B) {
	const goroutines = 64
	masters := redistest.Start(b, masterCount, redistest.Config{})
	for _, n := range []int{1, 100, 10_000, 100_000} {
		keys := make([]string, n)
		for i := range keys {
			keys[i] = fmt.Sprintf("bench:keys:%d", i)
		}
		for _, lib := range libraries {
			benchmarkPeer(b, lib, masters.URLs(), fmt.Sprintf("keys=%d", n), func(b *testing.B, p peer) {
				drawing := &drawingPeer{peer: p, keys: keys}
				c := newCrew(b, drawing, lib.name, goroutines)
				drawing.refused.Store(0) // while warming up
				c.measure(b)
				refused := float64(drawing.refused.Load())
				b.ReportMetric((float64(b.N)-refused)/b.Elapsed().Seconds(), "pairs/s")
				b.ReportMetric(refused/float64(b.N), "taken/op")
			})
		}
	}
}

// A drawingPeer has its workers draw a key for every attempt, in the same
// succession for every library.
type drawingPeer struct {
	peer
	keys    []string
	workers uint64 // made so far
	refused atomic.Int64
}

func (p *drawingPeer) worker(string) worker {
	p.workers++
	random := rand.New(rand.NewPCG(p.workers, uint64(len(p.keys))))
	return &drawingWorker{
		roamingWorker: roamingWorker{peer: p.peer, next: func() string { return p.keys[random.IntN(len(p.keys))] }},
		refused:       &p.refused,
	}
}

// A drawingWorker counts the attempts that found their key taken, and makes as
// if it held the lock.
type drawingWorker struct {
	roamingWorker
	refused *atomic.Int64
}

func (w *drawingWorker) lock(ctx context.Context) error {
	err := w.roamingWorker.lock(ctx)
	if isTaken(err) {
		w.current = nil
		w.refused.Add(1)
		return nil
	}
	return err
}

func (w *drawingWorker) unlock(ctx context.Context) error {
	if w.current == nil {
		return nil
	}
	return w.roamingWorker.unlock(ctx)
}

func TestATakenKeyIsCountedAndNotUnlocked(t *testing.T) {
	const key = "drawn"
	for _, lib := range libraries {
		t.Run(lib.name, func(t *testing.T) {
			c := redistest.Start(t, masterCount, redistest.Config{})
			holder := openWorker(t, lib.open, c, key)
			if err := holder.lock(t.Context()); err != nil {
				t.Fatal(err)
			}
			var drawing *drawingPeer
			other := openWorker(t, func(urls []string) (peer, error) {
				p, err := lib.open(urls)
				drawing = &drawingPeer{peer: p, keys: []string{key}}
				return drawing, err
			}, c, "any")
			for range 3 {
				if err := pair(other); err != nil {
					t.Fatal(err)
				}
			}
			if n := drawing.refused.Load(); n != 3 {
				t.Errorf("%d attempts found the key taken: want 3", n)
			}
			if err := holder.unlock(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := pair(other); err != nil || drawing.refused.Load() != 3 {
				t.Errorf("the free key: error %v, %d found taken: want none, 3 as before", err, drawing.refused.Load())
			}
		})
	}
}

// A roamingWorker takes a key of its choice for every pair.
type roamingWorker struct {
	peer    peer
	next    func() string
	current worker
}

func (w *roamingWorker) lock(ctx context.Context) error {
	w.current = w.peer.worker(w.next())
	return w.current.lock(ctx)
}

func (w *roamingWorker) unlock(ctx context.Context) error { return w.current.unlock(ctx) }

func (w *roamingWorker) token() string { return w.current.token() }

// freshKeys has every pair of a library on a key that none had before: where
// what one pair leaves behind would keep the next ones from the key.
func freshKeys(open func([]string) (peer, error)) func([]string) (peer, error) {
	return func(urls []string) (peer, error) {
		p, err := open(urls)
		if err != nil {
			return nil, err
		}
		return &freshKeyPeer{peer: p}, nil
	}
}

type freshKeyPeer struct {
	peer
	taken atomic.Int64 // keys so far
}

func (p *freshKeyPeer) worker(key string) worker {
	return &roamingWorker{peer: p.peer, next: func() string {
		return key + ":" + strconv.FormatInt(p.taken.Add(1), 10)
	}}
}

func TestFreshKeysAreNeverTakenTwice(t *testing.T) {
	c := redistest.Start(t, 1, redistest.Config{})
	holder := openWorker(t, freshKeys(openUnguarded), c, "fresh")
	// Each would find the key taken by the one before.
	for range 3 {
		if err := holder.lock(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := c.Masters[0].Do("DBSIZE"); err != nil || n != int64(3) {
		t.Errorf("%v keys, error %v: want 3", n, err)
	}
}

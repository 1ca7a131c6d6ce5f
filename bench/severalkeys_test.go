package bench

import (
	"context"
	"fmt"
	"testing"

	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/redlock"
)

// BenchmarkSeveralKeys locks and unlocks several keys as one lock, and one of
// several keys, each goroutine keys of its own; beside the lock of one key.
func BenchmarkSeveralKeys(b *testing.B) {
	masters := redistest.Start(b, masterCount, redistest.Config{})
	for _, goroutines := range []int{1, 16} {
		benchmark := func(lib library) {
			benchmarkCrew(b, lib, masters.URLs(), goroutinesName(goroutines), goroutines, (*crew).measure)
		}
		benchmark(library{"one", openRedquorum})
		for _, of := range []struct {
			name string
			keys int
			take takeSeveral
		}{
			{"all", 2, (*redlock.Client).TryLockAll},
			{"all", 10, (*redlock.Client).TryLockAll},
			{"any", 10, (*redlock.Client).TryLockAny},
		} {
			open := func(urls []string) (peer, error) {
				client, err := redlock.Open(urls, redlock.WithTTL(ttl))
				if err != nil {
					return nil, err
				}
				return &severalPeer{redquorumPeer{client}, of.keys, of.take}, nil
			}
			benchmark(library{fmt.Sprintf("%s-%d", of.name, of.keys), open})
		}
	}
}

type takeSeveral func(*redlock.Client, context.Context, []string, ...redlock.LockOption) (*redlock.Lock, error)

// A severalPeer locks so many keys at once.
type severalPeer struct {
	redquorumPeer
	keys int
	take takeSeveral
}

func (p *severalPeer) worker(key string) worker {
	w := &severalWorker{redquorumWorker{client: p.client}, nil, p.take}
	for i := range p.keys {
		w.keys = append(w.keys, fmt.Sprintf("%s:%d", key, i))
	}
	return w
}

type severalWorker struct {
	redquorumWorker
	keys []string
	take takeSeveral
}

func (w *severalWorker) lock(ctx context.Context) (err error) {
	w.held, err = w.take(w.client, ctx, w.keys)
	return err
}

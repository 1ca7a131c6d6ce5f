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
		for _, of := range []struct {
			name string
			keys int
			lock func(*redlock.Client, context.Context, []string) (*redlock.Lock, error)
		}{
			{"one", 1, func(c *redlock.Client, ctx context.Context, keys []string) (*redlock.Lock, error) {
				return c.TryLock(ctx, keys[0])
			}},
			{"all", 2, tryLockAll}, {"all", 10, tryLockAll}, {"any", 10, tryLockAny},
		} {
			open := func(urls []string) (peer, error) {
				client, err := redlock.Open(urls, redlock.WithTTL(ttl))
				if err != nil {
					return nil, err
				}
				return &severalPeer{redquorumPeer{client}, of.keys, of.lock}, nil
			}
			lib := library{name: fmt.Sprintf("%s-%d", of.name, of.keys), open: open}
			benchmarkPeer(b, lib, masters, goroutines, func(b *testing.B, c *crew) { c.measure(b) })
		}
	}
}

func tryLockAll(c *redlock.Client, ctx context.Context, keys []string) (*redlock.Lock, error) {
	return c.TryLockAll(ctx, keys)
}

func tryLockAny(c *redlock.Client, ctx context.Context, keys []string) (*redlock.Lock, error) {
	return c.TryLockAny(ctx, keys)
}

// A severalPeer locks so many keys at once.
type severalPeer struct {
	redquorumPeer
	keys int
	take func(*redlock.Client, context.Context, []string) (*redlock.Lock, error)
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
	take func(*redlock.Client, context.Context, []string) (*redlock.Lock, error)
}

func (w *severalWorker) lock(ctx context.Context) (err error) {
	w.held, err = w.take(w.client, ctx, w.keys)
	return err
}

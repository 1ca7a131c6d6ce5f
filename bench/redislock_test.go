package bench

import (
	"context"
	"fmt"

	"github.com/bsm/redislock"
)

// redislockPeer is bsm/redislock over go-redis. It uses one master, here the first, and
// sends nothing to the others. That is a fifth of the work, and without that master there
// is no lock at all. It shows what five masters cost, not which library is faster at the
// same work.
type redislockPeer struct {
	redis goRedisPool
	locks *redislock.Client
}

func openRedislock(urls []string) (peer, error) {
	client, err := newGoRedis(urls[0])
	if err != nil {
		return nil, err
	}
	return &redislockPeer{client, redislock.New(client)}, nil
}

func (p *redislockPeer) connect(ctx context.Context, n int) error {
	if err := p.redis.fill(ctx, n); err != nil {
		return fmt.Errorf("redislock: %w", err)
	}
	return nil
}

func (p *redislockPeer) worker(key string) worker {
	return &redislockWorker{locks: p.locks, key: key}
}

func (p *redislockPeer) close() error { return p.redis.Close() }

type redislockWorker struct {
	locks *redislock.Client
	key   string
	held  *redislock.Lock
}

func (w *redislockWorker) lock(ctx context.Context) (err error) {
	w.held, err = w.locks.Obtain(ctx, w.key, ttl, nil) // nil: no retries
	return err
}

func (w *redislockWorker) unlock(ctx context.Context) error { return w.held.Release(ctx) }

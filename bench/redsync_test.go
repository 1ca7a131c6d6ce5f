package bench

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/redigo"
	"github.com/gomodule/redigo/redis"
)

// maxIdle lets the pool keep a connection for every goroutine of the largest
// benchmark: redsync has one in use on every master for every pair under way,
// and a smaller pool would dial all the time.
const maxIdle = 1100

type redsyncPeer struct {
	pools []*redis.Pool
	sync  *redsync.Redsync
}

func openRedsync(urls []string) (peer, error) {
	p := &redsyncPeer{}
	delegates := make([]redsyncredis.Pool, len(urls))
	for i, url := range urls {
		pool := &redis.Pool{
			MaxIdle: maxIdle, // MaxActive is 0: no bound, and so nobody waits for a connection
			DialContext: func(ctx context.Context) (redis.Conn, error) {
				return redis.DialURLContext(ctx, url)
			},
		}
		p.pools = append(p.pools, pool)
		delegates[i] = redigo.NewPool(pool)
	}
	p.sync = redsync.New(delegates...)
	return p, nil
}

// connect has n connections of each pool in use at the same time, so that n are
// idle afterwards.
func (p *redsyncPeer) connect(ctx context.Context, n int) error {
	for _, pool := range p.pools {
		if err := fill(ctx, pool, n); err != nil {
			return fmt.Errorf("redsync: %w", err)
		}
	}
	return nil
}

func fill(ctx context.Context, pool *redis.Pool, n int) error {
	for i := range n {
		conn, err := pool.GetContext(ctx)
		if err != nil {
			return fmt.Errorf("connection %d of %d: %w", i+1, n, err)
		}
		defer conn.Close() // after the loop: it is in use until the last is open
		if _, err := redis.DoContext(conn, ctx, "PING"); err != nil {
			return fmt.Errorf("connection %d of %d: %w", i+1, n, err)
		}
	}
	return nil
}

func (p *redsyncPeer) worker(key string) worker {
	return &redsyncWorker{p.sync.NewMutex(key, redsync.WithExpiry(ttl), redsync.WithTries(1))}
}

func (p *redsyncPeer) close() error {
	errs := make([]error, len(p.pools))
	for i, pool := range p.pools {
		errs[i] = pool.Close()
	}
	return errors.Join(errs...)
}

// A redsyncWorker uses one mutex again and again, which redsync permits within
// one goroutine and which spares it the making of a mutex for every pair.
type redsyncWorker struct{ mutex *redsync.Mutex }

func (w *redsyncWorker) lock(ctx context.Context) error { return w.mutex.LockContext(ctx) }

func (w *redsyncWorker) unlock(ctx context.Context) error {
	ok, err := w.mutex.UnlockContext(ctx)
	switch {
	case err != nil && !ok:
		return err
	case !ok:
		return errors.New("redsync: not unlocked on a quorum")
	default:
		return nil // an error of a minority does not matter
	}
}

func (w *redsyncWorker) token() string { return w.mutex.Value() }

func redsyncTaken(err error) bool {
	// Value receivers in redsync, but it returns pointers.
	_, quorum := errors.AsType[*redsync.ErrTaken](err)
	_, node := errors.AsType[*redsync.ErrNodeTaken](err)
	return quorum || node
}

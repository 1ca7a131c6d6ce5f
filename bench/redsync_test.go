package bench

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	redsyncgoredis "github.com/go-redsync/redsync/v4/redis/goredis/v9"
	redsyncredigo "github.com/go-redsync/redsync/v4/redis/redigo"
	"github.com/gomodule/redigo/redis"
	goredis "github.com/redis/go-redis/v9"
)

// maxIdle lets a pool keep a connection for every goroutine of the largest benchmark.
// redsync uses one on every master for every current pair; a smaller pool would dial all
// the time.
const maxIdle = 1100

// redsyncPeer is redsync over the pools of one of its Redis clients.
type redsyncPeer struct {
	pools []connectionPool
	sync  *redsync.Redsync
	fast  bool // WithFailFast
}

// A connectionPool has the connections to one master.
type connectionPool interface {
	// fill uses n connections at the same time, so that n are idle afterwards.
	fill(ctx context.Context, n int) error
	Close() error
}

// openRedsync is redsync over redigo, as its documentation shows it first.
func openRedsync(urls []string) (peer, error) {
	p := &redsyncPeer{}
	delegates := make([]redsyncredis.Pool, len(urls))
	for i, url := range urls {
		pool := &redis.Pool{
			MaxIdle: maxIdle, // MaxActive is 0: no limit, so no call waits for a connection
			DialContext: func(ctx context.Context) (redis.Conn, error) {
				return redis.DialURLContext(ctx, url)
			},
		}
		p.pools = append(p.pools, redigoPool{pool})
		delegates[i] = redsyncredigo.NewPool(pool)
	}
	p.sync = redsync.New(delegates...)
	return p, nil
}

// openRedsyncFailFast is openRedsync with the option that returns as soon as a quorum has
// agreed or refused, in Unlock as well. The other commands continue in the background. A
// DEL may overtake the SET of its pair on another connection. The key then stays on that
// master until it expires.
func openRedsyncFailFast(urls []string) (peer, error) {
	p, err := openRedsync(urls)
	if err != nil {
		return nil, err
	}
	p.(*redsyncPeer).fast = true
	return p, nil
}

// openRedsyncGoRedis is redsync over go-redis.
func openRedsyncGoRedis(urls []string) (peer, error) {
	p := &redsyncPeer{}
	delegates := make([]redsyncredis.Pool, len(urls))
	for i, url := range urls {
		client, err := newGoRedis(url)
		if err != nil {
			return nil, errors.Join(err, p.close())
		}
		p.pools = append(p.pools, client)
		delegates[i] = redsyncgoredis.NewPool(client)
	}
	p.sync = redsync.New(delegates...)
	return p, nil
}

func (p *redsyncPeer) connect(ctx context.Context, n int) error {
	for _, pool := range p.pools {
		if err := pool.fill(ctx, n); err != nil {
			return fmt.Errorf("redsync: %w", err)
		}
	}
	return nil
}

func (p *redsyncPeer) worker(key string) worker {
	if p.fast {
		return &failFastWorker{key: key, peer: p}
	}
	return &redsyncWorker{p.mutex(key)}
}

func (p *redsyncPeer) mutex(key string, opts ...redsync.Option) *redsync.Mutex {
	return p.sync.NewMutex(key, append(opts, redsync.WithExpiry(ttl))...)
}

func (p *redsyncPeer) close() error {
	errs := make([]error, len(p.pools))
	for i, pool := range p.pools {
		errs[i] = pool.Close()
	}
	return errors.Join(errs...)
}

// A redsyncWorker uses one mutex repeatedly. redsync permits this within one goroutine, and
// it saves the cost of a new mutex for every pair.
type redsyncWorker struct{ mutex *redsync.Mutex }

func (w *redsyncWorker) lock(ctx context.Context) error { return w.mutex.TryLockContext(ctx) }

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

// A failFastWorker makes a mutex for every pair. Fail-fast returns while some calls still
// run. Such a call reads the mutex's token late: the next Lock of the same mutex may
// already have changed it. Each pair uses a new key, because the calls that still run may
// leave a key behind.
type failFastWorker struct {
	redsyncWorker
	key   string
	peer  *redsyncPeer
	pairs int
}

func (w *failFastWorker) lock(ctx context.Context) error {
	w.pairs++
	w.mutex = w.peer.mutex(fmt.Sprintf("%s:%d", w.key, w.pairs), redsync.WithFailFast(true))
	return w.redsyncWorker.lock(ctx)
}

type redigoPool struct{ *redis.Pool }

func (p redigoPool) fill(ctx context.Context, n int) error {
	for i := range n {
		conn, err := p.GetContext(ctx)
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

type goRedisPool struct{ *goredis.Client }

// newGoRedis makes a client with go-redis' defaults, except for the number of connections.
func newGoRedis(url string) (goRedisPool, error) {
	options, err := goredis.ParseURL(url)
	if err != nil {
		return goRedisPool{}, err
	}
	options.PoolSize = maxIdle
	return goRedisPool{goredis.NewClient(options)}, nil
}

func (p goRedisPool) fill(ctx context.Context, n int) error {
	for i := range n {
		conn := p.Conn()
		defer func() { _ = conn.Close() }() // gives it back to the pool
		if err := conn.Ping(ctx).Err(); err != nil {
			return fmt.Errorf("connection %d of %d: %w", i+1, n, err)
		}
	}
	return nil
}

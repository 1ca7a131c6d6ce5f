// Package locker is the lock of a scheduler that uses redsync with go-redis, as programs have it.
// One exported constructor takes clients, another takes pools.
package locker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	goredislib "github.com/redis/go-redis/v9"
)

// These are aliases of options, so that users of this package need no other import.
var (
	WithTries      = redsync.WithTries
	WithExpiry     = redsync.WithExpiry
	WithRetryDelay = redsync.WithRetryDelay
	WithFailFast   = redsync.WithFailFast
)

// An Option is an option of redsync.
type Option = redsync.Option

// ErrHeld is returned if another process runs the job.
var ErrHeld = errors.New("locker: another runs the job")

// A Lock is held until Unlock.
type Lock interface {
	Unlock(ctx context.Context) error
}

// A Locker makes locks of jobs.
type Locker struct {
	rs      *redsync.Redsync
	options []Option
}

// New makes a Locker of go-redis clients, one a master.
func New(clients []goredislib.UniversalClient, options ...Option) (*Locker, error) {
	if len(clients) == 0 {
		return nil, errors.New("locker: no clients")
	}
	pools := make([]redis.Pool, len(clients))
	for i, client := range clients {
		pools[i] = goredis.NewPool(client)
	}
	return WithPools(pools, options...), nil
}

// WithPools makes a Locker of pools.
func WithPools(pools []redis.Pool, options ...Option) *Locker {
	return &Locker{redsync.New(pools...), options}
}

// Lock acquires the lock of a job.
func (l *Locker) Lock(ctx context.Context, key string) (Lock, error) {
	mutex := l.rs.NewMutex(key, append([]Option{WithTries(1), WithExpiry(5 * time.Second)}, l.options...)...)
	err := mutex.LockContext(ctx)
	switch err := err.(type) {
	case nil:
		return &lock{mutex}, nil
	case *redsync.ErrTaken:
		return nil, ErrHeld
	default:
		return nil, fmt.Errorf("locker: %w", err)
	}
}

type lock struct{ *redsync.Mutex }

func (l *lock) Unlock(ctx context.Context) error {
	if ok, err := l.UnlockContext(ctx); !ok {
		return fmt.Errorf("locker: not released: %w", err)
	}
	return nil
}

// Refresh extends a lock.
func Refresh(ctx context.Context, l Lock) error {
	if ok, err := l.(*lock).ExtendContext(ctx); !ok {
		return fmt.Errorf("locker: not prolonged: %w", err)
	}
	return nil
}

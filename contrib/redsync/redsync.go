package redsync

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	upstream "github.com/go-redsync/redsync/v4"

	"github.com/redquorum/redquorum/contrib/redsync/internal/source"
	"github.com/redquorum/redquorum/contrib/redsync/redis"
	"github.com/redquorum/redquorum/redlock"
)

// The defaults of redsync v4.
const (
	defaultExpiry = 8 * time.Second
	defaultTries  = 32
	minRetryDelay = 50 * time.Millisecond
	maxRetryDelay = 250 * time.Millisecond
)

// A DelayFunc is used to decide the amount of time to wait between retries.
type DelayFunc = upstream.DelayFunc

// Redsync makes mutexes on its masters. It is safe for concurrent use.
type Redsync struct {
	pools  []redis.Pool
	warned sync.Once // of values that cannot stand in a key

	mu     sync.Mutex // guards what follows
	share  *share     // nil: no mutex has asked a master yet
	closed bool
}

// New makes a Redsync on the masters of these pools. They are those of NewPool (package
// redis/goredis/v9), one a master, or the one of [PoolOf]. New asks nobody: an error, such as
// a pool that cannot be used, is told by the first method of a mutex that needs a master.
//
// That method also opens a client, which every Redsync of the same go-redis clients uses, in
// whatever order they have them. Close gives it back. A program that never closes keeps,
// for each set of go-redis clients, a connection and three goroutines a master, and two
// goroutines more: 17 for five masters.
func New(pools ...redis.Pool) *Redsync {
	return &Redsync{pools: slices.Clone(pools)}
}

// PoolOf makes the pool of a client, to be the only one of New. The caller owns the client and
// closes it. This is the way to options of package redlock.
func PoolOf(client *redlock.Client) redis.Pool { return source.Client{Client: client} }

// Close ends the use of the masters, which redsync has no method for. The last Redsync of the
// same go-redis clients closes their connections, and blocks as redlock.Client.Close does; a
// client of PoolOf stays open. A Lock after Close fails with an error that matches
// redlock.ErrClosed. The keys of mutexes that are held are left to expire, as at the end of
// a program that uses redsync: Unlock alone releases. It may be called more than once.
func (r *Redsync) Close() error {
	r.mu.Lock()
	s := r.share
	r.share, r.closed = nil, true
	r.mu.Unlock()
	if s == nil {
		return nil
	}
	return s.end()
}

// use gives the client, and opens it at first.
func (r *Redsync) use() (*share, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, fmt.Errorf("redsync: Close was called: %w", redlock.ErrClosed)
	}
	var err error
	if r.share == nil {
		r.share, err = newShare(r.pools)
	}
	return r.share, err
}

// NewMutex makes a mutex with the given name, which is the key in Redis. It asks
// nobody: an option that is refused is told by the mutex's methods.
func (r *Redsync) NewMutex(name string, options ...Option) *Mutex {
	m := &Mutex{
		redsync:     r,
		name:        name,
		expiry:      defaultExpiry,
		tries:       defaultTries,
		delayFunc:   randomDelay,
		driftFactor: defaultDriftFactor,
	}
	for _, o := range options {
		o.Apply(m)
	}
	return m
}

func randomDelay(int) time.Duration {
	return minRetryDelay + rand.N(maxRetryDelay-minRetryDelay)
}

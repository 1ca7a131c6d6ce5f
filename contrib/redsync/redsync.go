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
	warned sync.Once // about a value that cannot be part of a token

	mu     sync.Mutex // guards what follows
	share  *share     // nil: no mutex has asked a master yet
	closed bool
}

// New makes a Redsync on the masters of these pools: one pool of NewPool (package
// redis/goredis/v9) for each master, or a single pool of [PoolOf]. New contacts no master. An
// error, such as for a pool that cannot be used, comes from the first method of a mutex that
// needs a master.
//
// That method also opens a client. Every Redsync of the same go-redis clients uses it, in
// whatever order it has them. Close gives it back. A program that never calls Close keeps,
// for each set of go-redis clients, a connection and three goroutines for each master, and
// two more goroutines: 17 for five masters.
func New(pools ...redis.Pool) *Redsync {
	return &Redsync{pools: slices.Clone(pools)}
}

// PoolOf makes a pool of a client. It has to be the only pool of New. The caller owns the
// client and closes it. Use PoolOf for options of package redlock.
func PoolOf(client *redlock.Client) redis.Pool { return source.Client{Client: client} }

// Close ends the use of the masters; redsync has no such method. For the last Redsync of the
// same go-redis clients it closes the client that they share, and blocks as
// redlock.Client.Close does. A client of PoolOf stays open. A Lock after Close fails with an
// error that matches redlock.ErrClosed. Close releases no mutex: the keys expire, as when a
// program with redsync ends. Close may be called more than once.
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

// use returns the share. The first call opens the client.
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

// NewMutex makes a mutex with the given name, which is the key in Redis. It contacts no
// master. For an option that is refused, the mutex's methods return an error.
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

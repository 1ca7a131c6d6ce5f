package redsync

import (
	"math/rand/v2"
	"time"

	upstream "github.com/go-redsync/redsync/v4"

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

// Redsync makes mutexes on the masters of a client.
type Redsync struct {
	client *redlock.Client
}

// New makes a Redsync on a client, which the caller owns and closes. Closing it
// leaves the keys of mutexes that are held to expire, as the end of a program that
// uses redsync does: Unlock alone releases.
func New(client *redlock.Client) *Redsync {
	return &Redsync{client: client}
}

// NewMutex makes a mutex with the given name, which is the key in Redis. It asks
// nobody: an option that is refused is told by the mutex's methods.
func (r *Redsync) NewMutex(name string, options ...Option) *Mutex {
	m := &Mutex{
		client:      r.client,
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

package demo

import (
	"context"
	"sync"
	"time"

	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

// A Client has the methods of *redlock.Client that the demonstration uses.
type Client interface {
	Do(ctx context.Context, key string, fn func(ctx context.Context) error, opts ...redlock.LockOption) error
	TryLock(ctx context.Context, key string, opts ...redlock.LockOption) (*redlock.Lock, error)
	Inspect(ctx context.Context, key string) (*redlock.Inspection, error)
	Masters() []redlock.MasterReport
	Ready(ctx context.Context) error
	Close() error
}

// open opens a real client.
func open(urls []string, opts ...redlock.Option) (Client, error) {
	c, err := redlock.Open(urls, opts...)
	if err != nil {
		return nil, err // returning c would make a Client that holds a nil pointer
	}
	return c, nil
}

// outageWait is how long a buyer waits for a quorum before it is refused.
const outageWait = 250 * time.Millisecond

// openClient opens one more client, which the caller must close. opts override the run's options.
func (r *run) openClient(owner string, opts ...redlock.Option) (Client, error) {
	all := []redlock.Option{
		redlock.WithTTL(r.TTL), redlock.WithOutageWait(outageWait), redlock.WithOwner(owner),
		redlock.WithPool(pool.WithClientName("redlock-demo")),
	}
	if r.MaxTTL != 0 {
		all = append(all, redlock.WithMaxTTL(r.MaxTTL))
	}
	return r.open(r.Cluster.URLs, append(append(all, r.client...), opts...)...)
}

// awaitClients waits for every client to have a quorum, at most for bound.
func (r *run) awaitClients(ctx context.Context, bound time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	for _, c := range r.clients {
		if err := c.Ready(ctx); err != nil {
			return err
		}
	}
	return nil
}

// closeClients may be called more than once.
func (r *run) closeClients() {
	var wg sync.WaitGroup
	for _, c := range r.clients {
		wg.Go(func() { _ = c.Close() }) // it fails only for a Client that Open did not make
	}
	wg.Wait()
}

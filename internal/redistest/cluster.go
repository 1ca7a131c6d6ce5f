package redistest

import (
	"context"
	"errors"
	"sync"
)

// Cluster is a number of servers that do not know each other, like the masters of a quorum.
type Cluster struct {
	// Masters are the servers, in the order of URLs. Do not change the slice.
	Masters []*Server
}

// LaunchN starts n servers at the same time, each as Launch does and
// with the same configuration. If one fails, none is left and the error says why
// for each that failed.
func LaunchN(ctx context.Context, n int, cfg Config) (*Cluster, error) {
	c := &Cluster{Masters: make([]*Server, n)}
	err := each(n, func(i int) (err error) {
		c.Masters[i], err = Launch(ctx, cfg)
		return err
	})
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// URLs returns the URL of every master.
func (c *Cluster) URLs() []string {
	urls := make([]string, len(c.Masters))
	for i, s := range c.Masters {
		urls[i] = s.URL()
	}
	return urls
}

// Close closes all servers at the same time. It is idempotent and takes as long
// as the slowest, at most 10 s.
func (c *Cluster) Close() error {
	return each(len(c.Masters), func(i int) error {
		if c.Masters[i] == nil {
			return nil // never started
		}
		return c.Masters[i].Close()
	})
}

// each runs f for 0 to n-1 at the same time, waits for all and joins the errors.
func each(n int, f func(i int) error) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = f(i) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

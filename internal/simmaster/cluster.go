package simmaster

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
)

// maxMasters bounds a cluster, well above any quorum that makes sense.
const maxMasters = 1000

// Cluster is a number of independent masters, numbered from 0.
type Cluster struct {
	masters []*Master
}

// StartCluster starts n masters, each on a loopback port of its own. The caller
// must Close the cluster. n: 1 to 1000.
func StartCluster(n int) (*Cluster, error) {
	c, err := StartMemoryCluster(n)
	if err != nil {
		return nil, err
	}
	for _, m := range c.masters {
		if err := m.Listen(); err != nil {
			c.Close()
			return nil, err
		}
	}
	return c, nil
}

// StartMemoryCluster starts n masters, 1 to 1000, that only Dialer reaches. Their names are
// master-1.sim:6379 and so on. The caller must Close the cluster, and in a synctest bubble it must
// do so inside the bubble.
func StartMemoryCluster(n int) (*Cluster, error) {
	if n < 1 || n > maxMasters {
		return nil, fmt.Errorf("simmaster: cluster of %d masters: want 1 to %d", n, maxMasters)
	}
	c := &Cluster{}
	for i := range n {
		m, err := New(Options{Name: fmt.Sprintf("master-%d.sim:6379", i+1)})
		if err != nil {
			c.Close()
			return nil, err
		}
		c.masters = append(c.masters, m)
	}
	return c, nil
}

// Masters returns the masters; the slice is the caller's.
func (c *Cluster) Masters() []*Master { return slices.Clone(c.masters) }

// URLs returns one redis:// URL a master: of its loopback port, or in memory.
func (c *Cluster) URLs() []string {
	urls := make([]string, len(c.masters))
	for i, m := range c.masters {
		urls[i] = m.URL()
	}
	return urls
}

// Dialer returns a function for use as a client's dialer. It opens in-memory connections to the
// master whose name or TCP address is addr, whatever the network. Other addresses are an error.
// See Master.Dial.
func (c *Cluster) Dialer() func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		for _, m := range c.masters {
			if m.Name() == addr || m.Addr() == addr {
				return m.Dial(ctx)
			}
		}
		return nil, &net.OpError{Op: "dial", Net: network, Addr: Addr(addr),
			Err: fmt.Errorf("no simulated master has this address")}
	}
}

// Close closes all masters, at the same time, and returns when their goroutines
// have ended. It is idempotent.
func (c *Cluster) Close() {
	var wg sync.WaitGroup
	for _, m := range c.masters {
		wg.Go(m.Close)
	}
	wg.Wait()
}

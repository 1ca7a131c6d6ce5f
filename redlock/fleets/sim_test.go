package fleets_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/internal/simmaster"
	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
	"github.com/redquorum/redquorum/redlock/fleets"
)

// A sim has embedded masters in a bubble of virtual time, of which fleets are made. The
// bubble is the leak check, too: it fails if a goroutine is left.
type sim struct {
	t       *testing.T
	cluster *simmaster.Cluster
	masters []*simmaster.Master
	opts    []redlock.Option // of all clients
	closers []func()
}

func inSim(t *testing.T, n int, test func(t *testing.T, s *sim)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		cluster, err := simmaster.StartMemoryCluster(n)
		if err != nil {
			t.Fatal(err)
		}
		defer cluster.Close()
		s := &sim{t: t, cluster: cluster, masters: cluster.Masters()}
		defer func() {
			for _, f := range slices.Backward(s.closers) {
				f()
			}
		}()
		test(t, s)
	})
}

// open makes a client of the masters from first to last, and waits until it has judged
// them.
func (s *sim) open(first, last int, opts ...redlock.Option) *redlock.Client {
	s.t.Helper()
	opts = slices.Concat([]redlock.Option{redlock.WithPool(pool.WithDialer(s.cluster.Dialer()))}, s.opts, opts)
	c, err := redlock.Open(s.cluster.URLs()[first:last+1], opts...)
	if err != nil {
		s.t.Fatal(err)
	}
	s.closers = append(s.closers, func() { _ = c.Close() })
	synctest.Wait()
	return c
}

// openLater makes a client of the masters from first to last, under other names, that
// reaches them when let is called and not before.
func (s *sim) openLater(first, last int, opts ...redlock.Option) (c *redlock.Client, let func()) {
	s.t.Helper()
	var reachable atomic.Bool
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		if !reachable.Load() {
			return nil, syscall.EHOSTUNREACH
		}
		return s.cluster.Dialer()(ctx, network, strings.Replace(addr, "alias", "master", 1))
	}
	var urls []string
	for _, url := range s.cluster.URLs()[first : last+1] {
		urls = append(urls, strings.Replace(url, "master", "alias", 1))
	}
	c, err := redlock.Open(urls, append([]redlock.Option{redlock.WithPool(pool.WithDialer(dial))}, opts...)...)
	if err != nil {
		s.t.Fatal(err)
	}
	s.closers = append(s.closers, func() { _ = c.Close() })
	synctest.Wait()
	return c, func() { reachable.Store(true) }
}

// ready waits until a Locker may be used.
func (s *sim) ready(l fleets.Locker) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 5*time.Second)
	defer cancel()
	if err := l.Ready(ctx); err != nil {
		s.t.Fatal(err)
	}
}

// sharded makes Shards of clients.
func (s *sim) sharded(clients map[string]*redlock.Client) *fleets.Shards {
	s.t.Helper()
	lockers := map[string]fleets.Locker{}
	for name, c := range clients {
		lockers[name] = fleets.One(c)
	}
	shards, err := fleets.Sharded(lockers)
	if err != nil {
		s.t.Fatal(err)
	}
	s.ready(shards)
	return shards
}

// moving makes a Moving of two clients.
func (s *sim) moving(from, to *redlock.Client) fleets.Locker {
	s.t.Helper()
	m, err := fleets.Moving(fleets.One(from), fleets.One(to))
	if err != nil {
		s.t.Fatal(err)
	}
	s.ready(m)
	return m
}

// on is how many of the masters from first to last have the key.
func (s *sim) on(key string, first, last int) (n int) {
	synctest.Wait() // for those that were not awaited
	for _, m := range s.masters[first : last+1] {
		if _, ok := m.Get(key); ok {
			n++
		}
	}
	return n
}

func lock(t *testing.T, l fleets.Locker, key string, opts ...redlock.LockOption) fleets.Hold {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	h, err := l.Lock(ctx, key, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func unlock(t *testing.T, h fleets.Hold) {
	t.Helper()
	if err := h.Unlock(t.Context()); err != nil {
		t.Error(err)
	}
}

// wantFleet checks that an error matches a sentinel and names a fleet.
func wantFleet(t *testing.T, err error, fleet string, want ...error) {
	t.Helper()
	f, ok := errors.AsType[*fleets.FleetError](err)
	if !ok || f.Fleet != fleet {
		t.Errorf("%v: want an error of fleet %q", err, fleet)
	}
	for _, target := range want {
		if !errors.Is(err, target) {
			t.Errorf("%v: want %v", err, target)
		}
	}
}

package fleets_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/internal/rig/masters"
	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
	"github.com/redquorum/redquorum/redlock/fleets"
)

// A sim has embedded masters in a bubble of virtual time, of which fleets are made.
type sim struct {
	*masters.Bubble
	opts []redlock.Option // of all clients
}

func inSim(t *testing.T, n int, test func(t *testing.T, s *sim)) {
	t.Helper()
	masters.InBubble(t, n, func(t *testing.T, b *masters.Bubble) { test(t, &sim{Bubble: b}) })
}

// open makes a client of the masters from first to last, and waits until it has judged
// them.
func (s *sim) open(first, last int, opts ...redlock.Option) *redlock.Client {
	s.T.Helper()
	opts = slices.Concat([]redlock.Option{redlock.WithPool(pool.WithDialer(s.Dialer()))}, s.opts, opts)
	c, err := redlock.Open(s.URLs()[first:last+1], opts...)
	if err != nil {
		s.T.Fatal(err)
	}
	s.AtEnd(func() { _ = c.Close() })
	synctest.Wait()
	return c
}

// openLater makes a client of the masters from first to last, under other names, that
// reaches them when let is called and not before.
func (s *sim) openLater(first, last int, opts ...redlock.Option) (c *redlock.Client, let func()) {
	s.T.Helper()
	var reachable atomic.Bool
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		if !reachable.Load() {
			return nil, syscall.EHOSTUNREACH
		}
		return s.Dialer()(ctx, network, strings.Replace(addr, "alias", "master", 1))
	}
	var urls []string
	for _, url := range s.URLs()[first : last+1] {
		urls = append(urls, strings.Replace(url, "master", "alias", 1))
	}
	c, err := redlock.Open(urls, append([]redlock.Option{redlock.WithPool(pool.WithDialer(dial))}, opts...)...)
	if err != nil {
		s.T.Fatal(err)
	}
	s.AtEnd(func() { _ = c.Close() })
	synctest.Wait()
	return c, func() { reachable.Store(true) }
}

// ready waits until a Locker may be used.
func (s *sim) ready(l fleets.Locker) {
	s.T.Helper()
	ctx, cancel := context.WithTimeout(s.T.Context(), 5*time.Second)
	defer cancel()
	if err := l.Ready(ctx); err != nil {
		s.T.Fatal(err)
	}
}

// sharded makes Shards of clients.
func (s *sim) sharded(clients map[string]*redlock.Client) *fleets.Shards {
	s.T.Helper()
	lockers := map[string]fleets.Locker{}
	for name, c := range clients {
		lockers[name] = fleets.One(c)
	}
	shards, err := fleets.Sharded(lockers)
	if err != nil {
		s.T.Fatal(err)
	}
	s.ready(shards)
	return shards
}

// moving makes a Moving of two clients.
func (s *sim) moving(from, to *redlock.Client) fleets.Locker {
	s.T.Helper()
	m, err := fleets.Moving(fleets.One(from), fleets.One(to))
	if err != nil {
		s.T.Fatal(err)
	}
	s.ready(m)
	return m
}

// on is how many of the masters from first to last have the key.
func (s *sim) on(key string, first, last int) (n int) {
	synctest.Wait() // for those that were not awaited
	for _, m := range s.All[first : last+1] {
		if _, ok := m.Get(key); ok {
			n++
		}
	}
	return n
}

func (s *sim) wantOn(key string, first, last, want int) {
	s.T.Helper()
	if n := s.on(key, first, last); n != want {
		s.T.Errorf("%s is on %d of the masters %d to %d, want %d", key, n, first, last, want)
	}
}

// held is what a call that has to succeed returns.
func (s *sim) held(h fleets.Hold, err error) fleets.Hold {
	s.T.Helper()
	if err != nil {
		s.T.Fatal(err)
	}
	return h
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
	wantNil(t, h.Unlock(t.Context()))
}

// errorOf is the error of a call that returns something else too.
func errorOf[T any](_ T, err error) error { return err }

func wantNil(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

func wantIs(t *testing.T, err error, want ...error) {
	t.Helper()
	for _, target := range want {
		if !errors.Is(err, target) {
			t.Errorf("%v: want %v", err, target)
		}
	}
}

func wantText(t *testing.T, err error, want ...string) {
	t.Helper()
	for _, text := range want {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v: want %q in it", err, text)
		}
	}
}

// wantFleet checks that an error matches sentinels and names a fleet.
func wantFleet(t *testing.T, err error, fleet string, want ...error) {
	t.Helper()
	if f, ok := errors.AsType[*fleets.FleetError](err); !ok || f.Fleet != fleet {
		t.Errorf("%v: want an error of fleet %q", err, fleet)
	}
	wantIs(t, err, want...)
}

// A book is written by whoever holds its keys. It finds who writes beside another, and tokens
// that are not above the last.
type book struct {
	mu      sync.Mutex // guards what follows
	writer  map[string]string
	tokens  map[string]uint64
	written int
}

func (b *book) sales() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.written
}

// write writes at all keys for so long.
func (b *book) write(t *testing.T, who string, h fleets.Hold, d time.Duration, keys ...string) {
	b.mu.Lock()
	if b.writer == nil {
		b.writer, b.tokens = map[string]string{}, map[string]uint64{}
	}
	for _, key := range keys {
		if b.writer[key] != "" || h.Fence() != 0 && h.Fence() <= b.tokens[key] {
			t.Errorf("%s writes at %s beside %q, with token %d after %d", who, key, b.writer[key], h.Fence(), b.tokens[key])
		}
		b.writer[key], b.tokens[key] = who, h.Fence()
	}
	b.mu.Unlock()
	time.Sleep(d)
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, key := range keys {
		b.writer[key] = ""
	}
	b.written++
}

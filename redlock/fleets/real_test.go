package fleets_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/internal/rig"
	"github.com/redquorum/redquorum/redlock"
	"github.com/redquorum/redquorum/redlock/fleets"
)

// A shop sells with a Locker that can be changed while it is open.
type shop struct {
	t       *testing.T
	stock   *book
	mu      sync.RWMutex // held for reading while a sale is made; guards locker
	locker  fleets.Locker
	longest time.Duration // for which a sale has waited; of the goroutine of open alone
}

func (s *shop) change(l fleets.Locker) {
	s.mu.Lock()
	old := s.locker
	s.locker = l
	s.mu.Unlock()
	if old != nil {
		_ = old.Close()
	}
}

// open sells until stop.
func (s *shop) open(stop *atomic.Bool) {
	for !stop.Load() {
		s.mu.RLock()
		began := time.Now()
		ctx, cancel := context.WithTimeout(s.t.Context(), 10*time.Second)
		h, err := s.locker.Lock(ctx, "inventory", redlock.WithFencing())
		cancel()
		s.longest = max(s.longest, time.Since(began))
		if err != nil {
			s.t.Errorf("a sale was refused: %v", err)
		} else {
			s.stock.write(s.t, "a shop", h, 200*time.Microsecond, "inventory")
			if err := h.Unlock(s.t.Context()); err != nil && !errors.Is(err, redlock.ErrLost) {
				s.t.Logf("unlock: %v", err)
			}
		}
		s.mu.RUnlock()
	}
}

// Shops sell an inventory on real masters while the whole fleet is moved from three
// masters to five others. One of each is killed on the way. Nobody sells beside another, no
// sale is refused, and a client that was forgotten is refused.
func TestAnInventoryIsSoldWhileItsFleetIsMoved(t *testing.T) {
	if err := redistest.Available(); err != nil {
		t.Skipf("no redis-server: %v", err)
	}
	const ttl, maxTTL = time.Second, 2 * time.Second
	from, to := redistest.Start(t, 3, redistest.Config{}), redistest.Start(t, 5, redistest.Config{})
	client := func(c *redistest.Cluster) *redlock.Client {
		client, err := redlock.Open(c.URLs(), redlock.WithTTL(ttl), redlock.WithMaxTTL(maxTTL))
		if err != nil {
			t.Fatal(err)
		}
		return client
	}
	one := func(c *redistest.Cluster) fleets.Locker { return fleets.One(client(c)) }
	both := func() fleets.Locker {
		l, err := fleets.Moving(one(from), one(to))
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	ready := func(l fleets.Locker) fleets.Locker {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		if err := l.Ready(ctx); err != nil {
			t.Fatal(err)
		}
		return l
	}
	operator := [2]*redlock.Client{client(from), client(to)}
	for _, c := range operator {
		defer c.Close()
		if err := c.Init(t.Context()); err != nil {
			t.Fatal(err)
		}
	}

	var stock book
	var stop atomic.Bool
	var wg sync.WaitGroup
	shops := make([]*shop, 4)
	for n := range shops {
		shops[n] = &shop{t: t, stock: &stock}
		shops[n].change(ready(one(from)))
		wg.Go(func() { shops[n].open(&stop) })
	}
	forgotten := ready(one(from))
	defer func() { _ = forgotten.Close() }()
	sales := func(what string) {
		t.Helper()
		before := stock.sales()
		rig.Within(t, 20*time.Second, "20 sales "+what, func() bool { return stock.sales() >= before+20 })
	}
	sales("in the first phase")
	for n, s := range shops {
		s.change(ready(both()))
		sales(fmt.Sprintf("with %d shops in the second phase", n+1))
	}
	for _, m := range []*redistest.Server{from.Masters[0], to.Masters[1]} {
		if err := m.Kill(); err != nil {
			t.Fatal(err)
		}
	}
	sales("with a master of each killed")

	closing, err := operator[0].CloseFleet(t.Context(), operator[1])
	if err != nil || len(closing.Closed) != 2 || closing.Left == 0 {
		t.Fatalf("%+v, %v: want it closed on the two that are left", closing, err)
	}
	sales("with the old fleet closed")
	refused := func() {
		t.Helper()
		// It notices at the end of a flush that the marker has changed, and then looks.
		for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
			h, err := forgotten.TryLock(t.Context(), "inventory")
			switch {
			case err == nil:
				_ = h.Unlock(t.Context())
				t.Fatal("who was forgotten in the first phase has a lock in the third")
			case strings.Contains(err.Error(), "this fleet is being moved to "):
				return
			case time.Now().After(deadline):
				t.Fatalf("who was forgotten in the first phase is told %v", err)
			}
		}
	}
	refused()
	time.Sleep(closing.Left)
	for n, s := range shops {
		s.change(ready(one(to)))
		sales(fmt.Sprintf("with %d shops in the third phase", n+1))
		refused()
	}
	stop.Store(true)
	wg.Wait()
	var longest time.Duration
	for _, s := range shops {
		s.change(nil)
		longest = max(longest, s.longest)
	}
	t.Logf("%d sold; the longest wait for the lock was %v", stock.sales(), longest)
	if longest > 5*time.Second {
		t.Errorf("a sale has waited for %v", longest)
	}
}

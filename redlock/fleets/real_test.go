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

	"github.com/redquorum/redquorum/internal/fleetseam"
	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/redlock"
	"github.com/redquorum/redquorum/redlock/fleets"
)

// An inventory is read and written without any protection of its own, but for the tokens
// that it has seen.
type inventory struct {
	left, sold, highest atomic.Int64
	inside              atomic.Int32
}

// sell takes one piece, as who holds the lock.
func (i *inventory) sell(h fleets.Hold) error {
	if n := i.inside.Add(1); n != 1 {
		return fmt.Errorf("%d sell at once", n)
	}
	defer i.inside.Add(-1)
	token := int64(h.Fence()) //nolint:gosec // it is below 2^53
	if last := i.highest.Swap(token); last >= token {
		return fmt.Errorf("token %d after %d", token, last)
	}
	left := i.left.Load()
	time.Sleep(200 * time.Microsecond)
	if h.Context().Err() != nil {
		return nil // nothing was written
	}
	i.left.Store(left - 1)
	i.sold.Add(1)
	return nil
}

// A shop sells with a Locker that can be changed while it is open.
type shop struct {
	t       *testing.T
	stock   *inventory
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
			if err := s.stock.sell(h); err != nil {
				s.t.Error(err)
			}
			if err := h.Unlock(s.t.Context()); err != nil && !errors.Is(err, redlock.ErrLost) {
				s.t.Logf("unlock: %v", err)
			}
		}
		s.mu.RUnlock()
	}
}

// Shops sell an inventory on real masters while the whole fleet is moved from three
// masters to five others. One of each is killed on the way. No update is lost, no sale
// is refused, and a client that was forgotten is refused.
func TestAnInventoryIsSoldWhileItsFleetIsMoved(t *testing.T) {
	if err := redistest.Available(); err != nil {
		t.Skipf("no redis-server: %v", err)
	}
	const ttl, maxTTL, stock = time.Second, 2 * time.Second, 1_000_000
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

	var i inventory
	i.left.Store(stock)
	var stop atomic.Bool
	var wg sync.WaitGroup
	shops := make([]*shop, 4)
	for n := range shops {
		shops[n] = &shop{t: t, stock: &i}
		shops[n].change(ready(one(from)))
		wg.Go(func() { shops[n].open(&stop) })
	}
	forgotten := ready(one(from))
	defer func() { _ = forgotten.Close() }()
	sales := func(what string) {
		t.Helper()
		before := i.sold.Load()
		for deadline := time.Now().Add(20 * time.Second); i.sold.Load() < before+20; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: %d sales in 20s", what, i.sold.Load()-before)
			}
		}
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

	closing, err := operator[0].CloseFleet(t.Context(), fleetseam.ClientOf(operator[1]).FleetID())
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
	if left := i.left.Load(); left != stock-i.sold.Load() {
		t.Errorf("%d sold, and %d of %d left: an update was lost", i.sold.Load(), left, stock)
	}
	t.Logf("%d sold; the longest wait for the lock was %v", i.sold.Load(), longest)
	if longest > 5*time.Second {
		t.Errorf("a sale has waited for %v", longest)
	}
}

package demo

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/sleep"
	"github.com/redquorum/redquorum/redlock"
)

// A shop is an inventory with buyers at it, from the opening until close.
type shop struct {
	stock  *inventory
	door   door
	ledger ledger

	cancel context.CancelFunc
	buyers sync.WaitGroup
	empty  chan struct{} // closed when all buyers have left
}

// A guard lets a buyer at the stock: a lock does, or nobody.
type guard func(ctx context.Context, fn func(ctx context.Context) error) error

// noGuard is the lock that is missing in the first phase.
func noGuard(ctx context.Context, fn func(ctx context.Context) error) error { return fn(ctx) }

// byLock is the guard of the real thing.
func byLock(c Client, key string) guard {
	return func(ctx context.Context, fn func(ctx context.Context) error) error {
		return c.Do(ctx, key, fn)
	}
}

// openShop lets n buyers in at the same moment; the i-th is let at the stock by
// guards[i%len(guards)]. They leave when the stock is sold out or ctx ends. The
// caller must close the shop.
func openShop(ctx context.Context, stock, n int, seed uint64, guards []guard) *shop {
	ctx, cancel := context.WithCancel(ctx)
	s := &shop{stock: newInventory(stock), cancel: cancel, empty: make(chan struct{})}
	opening := make(chan struct{})
	for i := range n {
		b := newBuyer(i, n, seed)
		s.buyers.Go(func() {
			<-opening
			s.serve(ctx, b, guards[i%len(guards)])
		})
	}
	close(opening)
	go func() { // ends with the last buyer; close waits for it
		s.buyers.Wait()
		close(s.empty)
	}()
	return s
}

// close sends the buyers away and waits for them: each for as long as its
// unlocking takes.
func (s *shop) close() {
	s.cancel()
	<-s.empty
}

// soldOut waits until the buyers have left by themselves, for bound at the
// most, and reports whether they have.
func (s *shop) soldOut(ctx context.Context, bound time.Duration) bool {
	t := time.NewTimer(bound)
	defer t.Stop()
	select {
	case <-s.empty:
		return ctx.Err() == nil
	case <-t.C:
	case <-ctx.Done():
	}
	return false
}

// A buyer comes back as long as there is something to buy.
type buyer struct {
	id   int
	rand *rand.Rand
	mean time.Duration // between two purchases
}

// Each purchase takes between least and most.
const leastPause, mostPause = time.Millisecond, 3 * time.Millisecond

// newBuyer gives each of n buyers a haste of its own. About four of them are at
// the stock at the same time where nothing stops them, however many there are.
func newBuyer(id, n int, seed uint64) *buyer {
	r := rand.New(rand.NewPCG(seed, uint64(id)))
	const crowd = 4
	mean := max(time.Millisecond, (leastPause+mostPause)/2*time.Duration(n-crowd)/crowd)
	return &buyer{id: id, rand: r, mean: around(r, mean)}
}

// around is random between half of d and one and a half of it.
func around(r *rand.Rand, d time.Duration) time.Duration {
	return d/2 + time.Duration(r.Int64N(int64(d)+1))
}

// serve is one buyer's visit.
func (s *shop) serve(ctx context.Context, b *buyer, g guard) {
	inARow := 0 // refusals
	for ctx.Err() == nil {
		var granted time.Time
		var out, sold bool
		called := time.Now()
		err := g(ctx, func(ctx context.Context) (err error) {
			granted = time.Now()
			sold, out, err = s.buy(ctx, b)
			return err
		})
		if sold {
			inARow = 0
			s.ledger.sold(sale{called: called, granted: granted, done: time.Now()})
		}
		rest := around(b.rand, b.mean)
		if err != nil && ctx.Err() == nil {
			s.ledger.failed(called, err)
			if _, refused := refusalOf(err); refused {
				inARow++
				s.ledger.inARow(inARow)
			}
			rest = around(b.rand, 100*time.Millisecond) // there is no hurry now
		}
		if out || sleep.For(ctx, rest) != nil {
			return
		}
	}
}

// buy is the critical section: read, pause, write. Under a lock it ends when
// the lock does.
func (s *shop) buy(ctx context.Context, b *buyer) (sold, out bool, err error) {
	defer s.door.enter(b.id, ctx)()
	stock := s.stock.read()
	if stock <= 0 {
		return false, true, nil
	}
	thinks := leastPause + time.Duration(b.rand.Int64N(int64(mostPause-leastPause)))
	if err := sleep.For(ctx, thinks); err != nil { // a lock's context computes: timers may be late
		return false, false, err
	}
	s.stock.sell(stock - 1)
	return true, false, nil
}

// refusalOf is the error of a buyer who was refused for want of a quorum.
func refusalOf(err error) (*redlock.QuorumError, bool) {
	if !errors.Is(err, redlock.ErrNoQuorum) {
		return nil, false
	}
	return errors.AsType[*redlock.QuorumError](err)
}

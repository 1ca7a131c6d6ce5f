package demo

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/stage"
)

// A shop is an inventory with buyers at it, from the opening until close.
type shop struct {
	stock   *inventory
	referee stage.Referee
	ledger  ledger

	cancel context.CancelFunc
	buyers sync.WaitGroup
	empty  chan struct{} // closed when all buyers have left
}

// openShop lets n buyers in at the same moment; the i-th is let at the stock by
// guards[i%len(guards)]. They leave when the stock is sold out or ctx ends. The
// caller must close the shop.
func openShop(ctx context.Context, stock, n int, guards []stage.Guard) *shop {
	ctx, cancel := context.WithCancel(ctx)
	s := &shop{stock: newInventory(stock), cancel: cancel, empty: make(chan struct{})}
	opening := make(chan struct{})
	for i := range n {
		pause := pauseOf(n)
		buyer := &stage.Contender{
			Name: fmt.Sprintf("buyer-%d", i+1), Guard: guards[i%len(guards)], Referee: &s.referee, Work: s.buy, Told: s.ledger.note,
			Rest: func(err error) time.Duration {
				if err != nil {
					return around(100 * time.Millisecond) // there is no hurry now
				}
				return around(pause)
			},
		}
		s.buyers.Go(func() {
			<-opening
			buyer.Run(ctx)
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

// Each purchase takes between least and most.
const leastPause, mostPause = time.Millisecond, 3 * time.Millisecond

// pauseOf gives each of n buyers a haste of its own, between two purchases. About four of them are at
// the stock at the same time where nothing stops them, however many there are.
func pauseOf(n int) time.Duration {
	const crowd = 4
	return around(max(time.Millisecond, (leastPause+mostPause)/2*time.Duration(n-crowd)/crowd))
}

// around is random between half of d and one and a half of it.
func around(d time.Duration) time.Duration {
	return d/2 + time.Duration(rand.Int64N(int64(d)+1))
}

// buy is the critical section: read, pause, write. Under a lock it ends when
// the lock does.
func (s *shop) buy(ctx context.Context) error {
	stock := s.stock.read()
	if stock <= 0 {
		return stage.ErrEnough
	}
	thinks := leastPause + time.Duration(rand.Int64N(int64(mostPause-leastPause)))
	if err := app.Sleep(ctx, thinks); err != nil { // a lock's context computes: timers may be late
		return err
	}
	s.stock.sell(stock - 1)
	return nil
}

// alone reports whether no two buyers were ever at the stock at once, and how many were at the most.
func (s *shop) alone() (alone bool, most int) {
	check := s.referee.Count()
	return !check.Broken() && check.Most <= 1, check.Most
}

package demo

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/redlock"
)

// A shop is an inventory with buyers at it, from the opening until close.
type shop struct {
	stock   *inventory
	referee referee
	ledger  ledger

	cancel context.CancelFunc
	buyers sync.WaitGroup
	empty  chan struct{} // closed when all buyers have left
}

// openShop lets n buyers in at the same moment; the i-th works under
// locks[i%len(locks)]. They leave when the stock is sold out or ctx ends. The
// caller must close the shop.
func openShop(ctx context.Context, stock, n int, locks []lockFunc) *shop {
	ctx, cancel := context.WithCancel(ctx)
	s := &shop{stock: newInventory(stock), cancel: cancel, empty: make(chan struct{})}
	opening := make(chan struct{})
	for i := range n {
		s.buyers.Go(func() {
			<-opening
			s.keepBuying(ctx, locks[i%len(locks)], pauseOf(n))
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

// A lockFunc lets one buyer at a time do the work, if there is a lock.
type lockFunc func(ctx context.Context, work func(ctx context.Context) error) error

// unguarded is the lock that is missing.
func unguarded(ctx context.Context, work func(ctx context.Context) error) error { return work(ctx) }

// A turn is one attempt to buy, and what came of it.
type turn struct {
	called, granted, done time.Time // when the lock was asked for, acquired (0: not), and given back
	bought                bool
	err                   error
}

// refused is the error of a turn that was refused for want of a quorum; false: it was not.
func (t *turn) refused() (*redlock.QuorumError, bool) {
	if !errors.Is(t.err, redlock.ErrNoQuorum) {
		return nil, false
	}
	return errors.AsType[*redlock.QuorumError](t.err)
}

// keepBuying is one buyer, until ctx ends or nothing is left. A turn that the end of the run cut short is not noted.
func (s *shop) keepBuying(ctx context.Context, lock lockFunc, pause time.Duration) {
	for ctx.Err() == nil {
		t := s.turn(ctx, lock)
		if errors.Is(t.err, errSoldOut) {
			return
		}
		if t.bought || ctx.Err() == nil || errors.Is(t.err, redlock.ErrLost) {
			s.ledger.note(t)
		}
		rest := pause
		if t.err != nil {
			rest = 100 * time.Millisecond // there is no hurry now
		}
		_ = app.Sleep(ctx, around(rest)) // the loop looks at ctx
	}
}

func (s *shop) turn(ctx context.Context, lock lockFunc) turn {
	t := turn{called: time.Now()}
	t.err = lock(ctx, func(ctx context.Context) error {
		t.granted = time.Now()
		defer s.referee.enter(ctx)()
		err := s.buy(ctx)
		t.bought = err == nil
		return err
	})
	t.done = time.Now()
	return t
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

var errSoldOut = errors.New("sold out")

// buy is the critical section: read, pause, write. Under a lock it ends when
// the lock does.
func (s *shop) buy(ctx context.Context) error {
	stock := s.stock.read()
	if stock <= 0 {
		return errSoldOut
	}
	thinks := leastPause + time.Duration(rand.Int64N(int64(mostPause-leastPause)))
	if err := app.Sleep(ctx, thinks); err != nil { // a lock's context computes: timers may be late
		return err
	}
	s.stock.sell(stock - 1)
	return nil
}

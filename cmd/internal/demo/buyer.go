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

// A shop is an inventory and its buyers, from openShop to close.
type shop struct {
	stock   *inventory
	referee referee
	ledger  ledger

	cancel context.CancelFunc
	buyers sync.WaitGroup
	empty  chan struct{} // closed when all buyers have left
}

// openShop starts n buyers at the same moment; the i-th works under locks[i%len(locks)].
// They leave when the stock is sold out or ctx ends. The caller must close the shop.
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

// close ends the buyers and waits for them. Each may still have to unlock.
func (s *shop) close() {
	s.cancel()
	<-s.empty
}

// soldOut waits at most for bound until the buyers leave because the stock is sold out, and
// reports whether they have left.
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

// A lockFunc does a buyer's work under a lock, if there is one.
type lockFunc func(ctx context.Context, work func(ctx context.Context) error) error

// unguarded does the work without a lock.
func unguarded(ctx context.Context, work func(ctx context.Context) error) error { return work(ctx) }

// A turn is one attempt to buy, and its result.
type turn struct {
	called, granted, done time.Time // when the buyer asked for the lock, acquired it (0: never), released it
	bought                bool
	err                   error
}

// refused returns the error of a turn that failed because there was no quorum; false: it did not.
func (t *turn) refused() (*redlock.QuorumError, bool) {
	if !errors.Is(t.err, redlock.ErrNoQuorum) {
		return nil, false
	}
	return errors.AsType[*redlock.QuorumError](t.err)
}

// keepBuying runs one buyer until ctx ends or the stock is sold out. It does not record a turn
// that failed because ctx ended, unless the lock was lost.
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
			rest = 100 * time.Millisecond // an error may last: retry slowly
		}
		_ = app.Sleep(ctx, around(rest)) // the loop checks ctx
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

// A purchase takes between leastPause and mostPause.
const leastPause, mostPause = time.Millisecond, 3 * time.Millisecond

// pauseOf returns a random pause between two purchases of one of n buyers. Without a lock, about
// four buyers are at the stock at the same time, for any n.
func pauseOf(n int) time.Duration {
	const crowd = 4
	return around(max(time.Millisecond, (leastPause+mostPause)/2*time.Duration(n-crowd)/crowd))
}

// around returns a random duration between d/2 and d*3/2.
func around(d time.Duration) time.Duration {
	return d/2 + time.Duration(rand.Int64N(int64(d)+1))
}

var errSoldOut = errors.New("sold out")

// buy is the critical section: read, pause, write. Under a lock it ends when the lock does.
func (s *shop) buy(ctx context.Context) error {
	stock := s.stock.read()
	if stock <= 0 {
		return errSoldOut
	}
	thinks := leastPause + time.Duration(rand.Int64N(int64(mostPause-leastPause)))
	if err := app.Sleep(ctx, thinks); err != nil { // a lock's context reads the clock in Err: timers may be late
		return err
	}
	s.stock.sell(stock - 1)
	return nil
}

// Command segments sells an inventory from many goroutines at once. Under one
// lock for the whole they sell one after the other. Split into five segments,
// of which each seller locks any one that is free, five sell at a time, and
// still no item is sold twice.
//
//	go run ./examples/segments
//	REDLOCK_MASTERS=redis://127.0.0.1:7101,redis://127.0.0.1:7102,… go run ./examples/segments
//
// Without REDLOCK_MASTERS it uses five masters inside the program.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redquorum/redquorum/redlock"
	"github.com/redquorum/redquorum/redlock/redlocktest"
)

const (
	items   = 50
	sellers = 10
	// A sale takes so long that two at once would sell the same item.
	sale = 20 * time.Millisecond
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Stdout, os.Getenv("REDLOCK_MASTERS"))
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "segments:", err)
		os.Exit(1)
	}
}

// run sells two inventories, one whole and one in segments, and prints how that
// went. masters are URLs with commas between them; empty: embedded ones.
func run(ctx context.Context, out io.Writer, masters string, opts ...redlock.Option) error {
	urls := strings.Split(masters, ",")
	if masters == "" {
		embedded, stop, err := redlocktest.Run(5)
		if err != nil {
			return err
		}
		defer stop()
		urls = embedded
	}
	client, err := redlock.Open(urls, opts...)
	if err != nil {
		return err
	}
	defer client.Close()

	for _, segments := range []int{1, 5} {
		inv := newInventory(segments)
		began := time.Now()
		if err := inv.sellOut(ctx, client); err != nil {
			return err
		}
		fmt.Fprintf(out, "%d segment(s): %d of %d items sold, %d left, in %v\n",
			segments, inv.sold.Load(), items, inv.left(), time.Since(began).Round(time.Millisecond))
	}
	return nil
}

// An inventory is what is in stock, split into segments. A segment may only be
// touched under its lock: to sell reads the stock, takes its time, and writes it.
type inventory struct {
	keys  []string // of the segments' locks
	stock []atomic.Int64
	sold  atomic.Int64
}

func newInventory(segments int) *inventory {
	inv := &inventory{stock: make([]atomic.Int64, segments)}
	for i := range segments {
		inv.keys = append(inv.keys, fmt.Sprintf("inventory:%d-of-%d", i+1, segments))
		inv.stock[i].Store(int64(items / segments))
	}
	return inv
}

func (inv *inventory) left() (n int64) {
	for i := range inv.stock {
		n += inv.stock[i].Load()
	}
	return n
}

// sellOut has all sellers sell until nothing is left.
func (inv *inventory) sellOut(ctx context.Context, client *redlock.Client) error {
	var wg sync.WaitGroup
	errs := make([]error, sellers)
	for i := range sellers {
		wg.Go(func() { errs[i] = inv.seller(ctx, client) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// seller sells from whichever segment is free, until all are sold out.
func (inv *inventory) seller(ctx context.Context, client *redlock.Client) error {
	open := slices.Clone(inv.keys)
	soon := redlock.WithBackoff(func(int) time.Duration { return 5*time.Millisecond + rand.N(10*time.Millisecond) })
	for len(open) > 0 {
		lock, err := client.LockAny(ctx, open, soon)
		if err != nil {
			return err
		}
		inStock := inv.sellOne(lock.Context(), slices.Index(inv.keys, lock.Key()))
		if err := lock.Unlock(ctx); errors.Is(err, redlock.ErrLost) {
			return err // on the way: the sale is in doubt
		} // a release that no quorum confirmed is no harm: the key expires by itself
		if !inStock {
			open = slices.DeleteFunc(open, func(key string) bool { return key == lock.Key() })
		}
	}
	return nil
}

// sellOne sells an item of a segment and reports whether there was one. It must
// be called under the segment's lock, with its context.
func (inv *inventory) sellOne(ctx context.Context, segment int) bool {
	n := inv.stock[segment].Load()
	if n == 0 {
		return false
	}
	time.Sleep(sale)
	if ctx.Err() == nil { // still ours
		inv.stock[segment].Store(n - 1)
		inv.sold.Add(1)
	}
	return true
}

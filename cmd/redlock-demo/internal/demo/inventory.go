package demo

import (
	"context"
	"sync"

	"github.com/redquorum/redquorum/redlock"
)

// An inventory is the goods: a number that is read and written, like a row in a
// database or a figure in a file. Reading and writing are each safe for
// concurrent use; what lies between them is the buyers' affair, and the race
// between them is what the lock is for.
type inventory struct {
	// mu guards what follows.
	mu    sync.Mutex
	stock int
	least int // the lowest stock that was written
	sold  int // how often a buyer wrote, that is, was sold a piece
}

func newInventory(stock int) *inventory { return &inventory{stock: stock, least: stock} }

func (v *inventory) read() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.stock
}

// sell writes back the stock that is left after a sale.
func (v *inventory) sell(left int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.stock = left
	v.least = min(v.least, left)
	v.sold++
}

// books are the figures of an inventory at one moment.
type books struct{ stock, least, sold int }

func (v *inventory) books() books {
	v.mu.Lock()
	defer v.mu.Unlock()
	return books{v.stock, v.least, v.sold}
}

// A door counts the buyers who are at the stock and may believe that they are
// allowed to. One whose lock was lost does not count: its context has ended,
// which it finds out before it writes. The door also sees their fencing tokens, in the
// order in which they come.
type door struct {
	// mu guards what follows. A context's Err is asked under it, which does
	// not block.
	mu     sync.Mutex
	inside map[int]context.Context // by buyer
	most   int                     // inside at the same time
	last   uint64                  // the greatest token
	tokens int
	fell   int // tokens that were not above all before
}

// enter lets a buyer in, until the function is called.
func (d *door) enter(buyer int, ctx context.Context) (leave func()) { //nolint:revive // the context is what enters
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.inside == nil {
		d.inside = make(map[int]context.Context)
	}
	d.inside[buyer] = ctx
	n := 0
	for _, c := range d.inside {
		if c.Err() == nil {
			n++
		}
	}
	d.most = max(d.most, n)
	if l, ok := redlock.FromContext(ctx); ok && l.Fence() != 0 {
		d.note(l.Fence())
	}
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.inside, buyer)
	}
}

// note counts a token. The caller must hold mu.
func (d *door) note(token uint64) {
	d.tokens++
	if token <= d.last {
		d.fell++
	}
	d.last = max(d.last, token)
}

// mostInside is how many were inside at the same time, at most.
func (d *door) mostInside() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.most
}

// tokensSeen is how many tokens there were, and how many of them did not rise.
func (d *door) tokensSeen() (all, fell int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.tokens, d.fell
}

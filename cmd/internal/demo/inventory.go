package demo

import "sync"

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

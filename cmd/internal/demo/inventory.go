package demo

import "sync"

// An inventory is a number of goods that is read and written, like a row in a database. Reading
// and writing are each safe for concurrent use. Between a buyer's read and its write there is a
// race, which the lock has to prevent.
type inventory struct {
	// mu guards what follows.
	mu    sync.Mutex
	stock int
	least int // the lowest stock that was written
	sold  int // how often a buyer wrote: the pieces sold
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

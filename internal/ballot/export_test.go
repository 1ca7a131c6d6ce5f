package ballot

import "time"

// HeldUp lets the timer of Wait come late by d, as where this process gets no processor.
func (b *Round) HeldUp(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.patience.due = b.patience.due.Add(-d)
}

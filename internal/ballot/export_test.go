package ballot

import "time"

// HeldUp makes the timer of Wait late by d, as in a process without processor time.
func (b *Round) HeldUp(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.patience.due = b.patience.due.Add(-d)
}

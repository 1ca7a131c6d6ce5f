package app

import (
	"context"
	"sync"
	"time"
)

// Sleep waits for d, or not at all where d is not positive. It returns ctx's cause if ctx
// ended before or at the same time.
func Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// Repeat starts a goroutine that calls f at once, and then with pauses of d, until stop is
// called. stop waits for the goroutine.
func Repeat(d time.Duration, f func()) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		for f(); Sleep(ctx, d) == nil; {
			f()
		}
	})
	return func() {
		cancel()
		wg.Wait()
	}
}

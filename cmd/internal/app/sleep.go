package app

import (
	"context"
	"sync"
	"time"
)

// Sleep waits for d, not at all where that is not positive. The error is ctx's cause,
// where ctx ended before, or at the same time.
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

// Repeat calls f at once, and again and again after d, until the function that it returns is called, which waits for
// its goroutine.
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

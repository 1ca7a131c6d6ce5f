package app

import (
	"context"
	"time"
)

// For waits for d, not at all where that is not positive. The error is ctx's cause,
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

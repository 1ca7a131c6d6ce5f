// Package sleep waits between two looks, or until there is no point in another.
package sleep

import (
	"context"
	"time"
)

// For waits for d, not at all where that is not positive. The error is ctx's cause,
// where ctx ended before, or at the same time.
func For(ctx context.Context, d time.Duration) error {
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

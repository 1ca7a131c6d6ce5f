package redlock

import (
	"context"
	"log/slog"

	"github.com/redquorum/redquorum/internal/outcome"
)

// logAttempt logs an attempt. It asks first whether anybody reads that: to hand
// over the fields costs allocations.
func (c *Client) logAttempt(l *Lock, attempt int, err *outcome.Failure) {
	log := c.opts.logger
	if !log.Enabled(context.Background(), slog.LevelDebug) {
		return
	}
	if err != nil {
		log.Debug("attempt failed", "key", err.Key, "attempt", attempt, "error", c.quorumError(err))
		return
	}
	log.Debug("lock acquired", "key", l.Key(), "attempt", attempt, "agreed", l.handle.Hold().Agreed())
}

package fleets

import (
	"context"
	"time"

	"github.com/redquorum/redquorum/internal/fleetseam"
	"github.com/redquorum/redquorum/redlock"
)

// A shardHold is a lock of a shard. It is the lock itself, so that it costs nothing; the
// name of the shard for its errors is its client's.
type shardHold redlock.Lock

func (h *shardHold) lock() *redlock.Lock { return (*redlock.Lock)(h) }

// named says which shard an error is of.
func (h *shardHold) named(err error) error {
	if err == nil {
		return nil
	}
	return inFleet(fleetseam.HoldOf(h.lock()).Name(), err)
}

// Key implements Hold.
func (h *shardHold) Key() string { return h.lock().Key() }

// Fence implements Hold.
func (h *shardHold) Fence() uint64 { return h.lock().Fence() }

// Remaining implements Hold.
func (h *shardHold) Remaining() time.Duration { return h.lock().Remaining() }

// ValidUntil implements Hold.
func (h *shardHold) ValidUntil() time.Time { return h.lock().ValidUntil() }

// Context implements Hold.
func (h *shardHold) Context() context.Context { return h.lock().Context() }

// Extend implements Hold.
func (h *shardHold) Extend(ctx context.Context) error { return h.named(h.lock().Extend(ctx)) }

// Verify implements Hold.
func (h *shardHold) Verify(ctx context.Context) error { return h.named(h.lock().Verify(ctx)) }

// Unlock implements Hold.
func (h *shardHold) Unlock(ctx context.Context) error { return h.named(h.lock().Unlock(ctx)) }

package fleets

import (
	"context"

	"github.com/redquorum/redquorum/internal/fleetseam"
	"github.com/redquorum/redquorum/redlock"
)

// A shardHold is a lock of a shard. It has the size of a pointer, so that it costs no
// allocation; the name of the shard for its errors is its client's.
type shardHold struct{ *redlock.Lock }

// named says which shard an error is of.
func (h shardHold) named(err error) error {
	if err == nil {
		return nil
	}
	return inFleet(fleetseam.HoldOf(h.Lock).Name(), err)
}

// Extend implements Hold.
func (h shardHold) Extend(ctx context.Context) error { return h.named(h.Lock.Extend(ctx)) }

// Verify implements Hold.
func (h shardHold) Verify(ctx context.Context) error { return h.named(h.Lock.Verify(ctx)) }

// Unlock implements Hold.
func (h shardHold) Unlock(ctx context.Context) error { return h.named(h.Lock.Unlock(ctx)) }

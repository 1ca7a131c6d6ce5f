package waitqueue

import (
	"context"
	"time"

	"github.com/redquorum/redquorum/internal/outcome"
	"github.com/redquorum/redquorum/internal/wire"
)

// A Caller makes the attempts of one call, each with a token of its own, and is told how
// the waiting goes. The room knows neither handles nor holds; this is all it asks of them.
// It is used by one goroutine. A nil failure is the lock; one with a Cause ends the
// waiting.
type Caller interface {
	// All asks all masters together. holders: the failure is to say who holds the lock.
	All(ctx context.Context, holders bool) *outcome.Failure
	// Pilot asks a key's pilot alone. Where it grants the lock Others must be called next;
	// otherwise the attempt is over and the pilot says where the caller stands, or for
	// several keys together which of them is in the way. Of several keys that would do,
	// key is the one to ask for.
	Pilot(ctx context.Context, pilot int, key string, at wire.Place) (granted bool, t wire.Turn, err error)
	// Others asks the other masters, once the pilot has granted the lock.
	Others(ctx context.Context, holders bool) *outcome.Failure
	// Together asks the pilot and the others at once, and returns what the pilot said too. Of
	// several keys that would do, key is the one to ask for. Not for several keys together,
	// whose part at the pilot is that of the others: see All.
	Together(ctx context.Context, pilot int, key string, at wire.Place) (wire.PilotAnswer, *outcome.Failure)
	// Called asks all masters together for a reader that a pilot has called.
	Called(ctx context.Context) *outcome.Failure
	// Taken is the failure of an attempt that went no further than the pilot, or not even
	// there (pilot.None). held says what is in the way; nil: that is not known.
	Taken(pilot int, held *outcome.Held) *outcome.Failure

	// Attempted is told how an attempt went, counted from 1. The failure belongs to the
	// room.
	Attempted(attempt int, failed *outcome.Failure)
	// Pausing is told of a pause, after so many attempts.
	Pausing(attempts int, d time.Duration, last *outcome.Failure)
}

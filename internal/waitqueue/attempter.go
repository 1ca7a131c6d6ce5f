package waitqueue

import (
	"context"
	"time"

	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/wire"
)

// An Attempter makes the attempts of one call, each with a token of its own, and is notified how
// the waiting goes. The room knows neither handles nor holds: it uses them only through an
// Attempter. One goroutine uses it. A nil failure means that the lock is held. A failure with
// a Cause ends the waiting.
type Attempter interface {
	// At aims the attempts that follow at one key, if one of several is wanted.
	At(key string)
	// All asks all masters together, except a pilot that has just granted the lock. holders: the
	// failure shall say who holds the lock.
	All(ctx context.Context, holders bool) *quorum.Failure
	// Pilot asks a key's pilot alone. If it grants the lock, the attempt goes on with All; any
	// other call gives the vote back. If not, the attempt is over, and t says where the caller
	// stands in the queue, or, for several keys together, which of them is held.
	Pilot(ctx context.Context, pilot int, at wire.Place) (granted bool, t wire.Turn, err error)
	// Together asks the pilot and the others at once, and also returns the pilot's answer. For
	// several keys together All does this: the pilot gets the same command as the others.
	Together(ctx context.Context, pilot int, at wire.Place) (wire.PilotAnswer, *quorum.Failure)
	// Called asks all masters together for a reader that a pilot has called.
	Called(ctx context.Context) *quorum.Failure
	// Taken returns the failure of an attempt at the pilot alone, or of one that was not made
	// (quorum.NoPilot). held says who holds the key; nil: that is not known.
	Taken(pilot int, held *quorum.Held) *quorum.Failure

	// Attempted is called after each attempt, counted from 1. The failure belongs to the room.
	Attempted(attempt int, failed *quorum.Failure)
	// Pausing is called before a pause, after so many attempts.
	Pausing(attempts int, d time.Duration, last *quorum.Failure)
}

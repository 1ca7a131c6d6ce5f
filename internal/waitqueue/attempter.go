package waitqueue

import (
	"context"
	"time"

	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/wire"
)

// A Attempter makes the attempts of one call, each with a token of its own, and hears how the
// waiting goes. The room knows neither handles nor holds: a Attempter is all that it needs of
// them. One goroutine uses it. A nil failure means that the lock is held. A failure with a
// Cause ends the waiting.
type Attempter interface {
	// At aims the attempts that follow at one key, where one of several is wanted.
	At(key string)
	// All asks all masters together, but for a pilot that has just granted the lock. holders: the
	// failure shall say who holds the lock.
	All(ctx context.Context, holders bool) *quorum.Failure
	// Pilot asks a key's pilot alone. If it grants the lock, the attempt goes on with All;
	// whatever else comes next gives the vote back. If not, the attempt is over, and the pilot
	// says where the caller stands, or, for several keys together, which of them is in the
	// way.
	Pilot(ctx context.Context, pilot int, at wire.Place) (granted bool, t wire.Turn, err error)
	// Together asks the pilot and the others at once, and also returns the pilot's answer. It
	// is not for several keys together: there the pilot gets the same command as the others
	// (All).
	Together(ctx context.Context, pilot int, at wire.Place) (wire.PilotAnswer, *quorum.Failure)
	// Called asks all masters together for a reader that a pilot has called.
	Called(ctx context.Context) *quorum.Failure
	// Taken is the failure of an attempt at the pilot alone, or of one that was not made
	// (pilot.None). held says what is in the way; nil: that is not known.
	Taken(pilot int, held *quorum.Held) *quorum.Failure

	// Attempted hears how an attempt went, counted from 1. The failure belongs to the room.
	Attempted(attempt int, failed *quorum.Failure)
	// Pausing hears of a pause, after so many attempts.
	Pausing(attempts int, d time.Duration, last *quorum.Failure)
}

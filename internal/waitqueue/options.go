package waitqueue

import (
	"time"

	"github.com/redquorum/redquorum/internal/wire"
)

// Options say what a call locks, and how it waits.
type Options struct {
	// Keys are as wire.Claim has them: with the prefix, sorted. If there are several and Kind is
	// wire.Plain, one of them is wanted.
	Keys []string
	Kind *wire.Kind // of lock
	Fair bool       // the call must not overtake others
	// Limit is how long to wait for one master at most.
	Limit time.Duration
	// Until is when a call that does not wait has to end; zero: the call may wait.
	Until time.Time
	// Tries bounds the attempts of a call that polls; 0: as many as it takes.
	Tries int
	// Backoff is the pause after the attempt of that number; nil: a random one.
	Backoff func(attempt int) time.Duration
}

func (w *Options) key() string {
	return w.Keys[0]
}

// isSet reports whether several keys are wanted together.
func (w *Options) isSet() bool { return w.Kind == wire.Set }

// oneOf reports whether one of several keys is wanted.
func (w *Options) oneOf() bool { return w.Kind == wire.Plain && len(w.Keys) > 1 }

// once reports whether the call does not wait.
func (w *Options) once() bool { return !w.Until.IsZero() }

// left returns how long to wait for one master: no longer than the call may take.
func (w *Options) left() time.Duration {
	if w.once() {
		return min(w.Limit, max(0, time.Until(w.Until)))
	}
	return w.Limit
}

// queues reports whether a call waits in queues, and does not poll. It polls if the caller
// has said how often, or when, to try.
func (w *Options) queues() bool {
	return w.Tries == 0 && w.Backoff == nil
}

package quorum

import (
	"context"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/chance"
	"github.com/redquorum/redquorum/internal/deliver"
	"github.com/redquorum/redquorum/internal/pipeline"
)

// A Group is a client's masters and what its rooms share. Only the counts change once a room has
// it.
type Group struct {
	Masters []*pipeline.Pipeline
	Need    int         // masters that make a quorum
	Clock   drift.Clock // a client's is a cumulative one (S7)
	Chance  *chance.Source
	// Deliverer calls log handlers and traces of users; nil: there are none.
	Deliverer *deliver.Deliverer
	Closing   context.Context // the client's: its end ends every wait, with its cause
	InFlight  Count           // attempts, and questions that some master has still to answer: Close waits for them
	Running   Count           // calls that wait for a decision, and attempts, which may still roll back
}

// Interrupted returns what has ended a call: its context's error, or the cause with which the
// client closes; nil: nothing has.
func Interrupted(ctx, closing context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if closing.Err() != nil {
		return context.Cause(closing)
	}
	return nil
}

// Pause waits for d, or until ready is closed. If the call ends, it returns the reason at once.
func Pause(ctx, closing context.Context, d time.Duration, ready <-chan struct{}) error {
	if cause := Interrupted(ctx, closing); cause != nil || d <= 0 {
		return cause
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ready:
		return nil
	case <-ctx.Done():
	case <-closing.Done():
	}
	return Interrupted(ctx, closing)
}

package quorum

import (
	"context"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/chance"
	"github.com/redquorum/redquorum/internal/deliver"
	"github.com/redquorum/redquorum/internal/pipeline"
)

// A Group is a client's masters, and what else its rooms share. Only the counts change once a
// room has it.
type Group struct {
	Masters []*pipeline.Pipeline
	Need    int         // masters that make a quorum
	Clock   drift.Clock // a client's is a cumulative one (S7)
	Chance  *chance.Source
	// Deliverer tells users what happens; nil: nobody listens.
	Deliverer *deliver.Deliverer
	Closing   context.Context // the client's: its end ends every wait, with its cause
	InFlight  Count           // attempts, and questions that some master has still to answer: Close waits for them
	Running   Count           // calls that wait for a decision, and attempts, which may still roll back
}

package redlock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/go-multierror"

	"github.com/redquorum/redquorum/internal/guard"
)

// WithMovedTo says that this client takes part in the move of its fleet to another one:
// that every lock it takes here is taken in the other fleet, too. name is what the fleet
// is closed with: redlock-demo fleet close --to, or Client.CloseFleet. From then on only
// clients that take part get votes; the others are refused with AbstainMoved.
//
// Package fleets says so by itself for the id of the fleet that Moving leads to; this
// option is for moves that have another name, as that of a shard's keys. It may be given
// several times. 1 to 64 bytes, without spaces. It does nothing with GuardOff.
func WithMovedTo(name string) Option {
	return clientOption(func(o *clientOptions) error {
		if err := guard.CheckMove(name); err != nil {
			return fmt.Errorf("WithMovedTo: %w", err)
		}
		o.moves = append(slices.Clip(o.moves), name)
		return nil
	})
}

// A FleetClosing is how far a fleet is on its way to another one.
type FleetClosing struct {
	// Fleet is the id in the markers; "": it is not settled.
	Fleet string
	// Closed are the addresses of the masters that say so, in the order of the URLs.
	Closed []string
	// Open has a *NodeError for each that does not; nil: all do. Clients tell it when it
	// comes, those that take part and those that do not.
	Open *multierror.Error
	// Left is for how long locks may still be held that were granted before to clients
	// that take no part; 0: none is. Until is the same for people, by this machine's wall
	// clock.
	Left  time.Duration
	Until time.Time
}

// CloseFleet closes the client's fleet to all that take no part in its move to another:
// every master's marker says from then on where to, and masters vote for those clients
// alone that name it (WithMovedTo, or fleets.Moving). An operator does so when all clients
// should take every lock in both fleets; whoever was forgotten is told. Votes are not
// interrupted for the others.
//
// When it returns without an error so many masters have heard that the others alone are no
// quorum. Locks of before may go on until FleetClosing.Left is over; then the new fleet
// may be used alone. It may be called again, and tells then for how much longer. Init with
// ForceInit opens the fleet again.
//
// to is the id of the new fleet, or the name that WithMovedTo has. The error is a
// *QuorumError that matches ErrNoQuorum where too few masters could be told; the
// FleetClosing says which were. It blocks until ctx ends, at the most for 5 s.
func (c *Client) CloseFleet(ctx context.Context, to string) (*FleetClosing, error) {
	switch err := guard.CheckMove(to); {
	case err != nil:
		return nil, fmt.Errorf("redlock: close fleet: %w", err)
	case c.voters == nil:
		return nil, errors.New("redlock: close fleet: WithGuard(GuardOff) keeps no markers: want GuardStandard or GuardStrict")
	case c.isClosed():
		return nil, fmt.Errorf("redlock: close fleet: %w", ErrClosed)
	case c.voters.FleetID() == to:
		return nil, fmt.Errorf("redlock: close fleet: to is %q, the id of this fleet: want that of another", to)
	}
	began := time.Now()
	found, reasons, err := c.voters.CloseFleet(ctx, to)
	if err != nil {
		return nil, fmt.Errorf("redlock: close fleet: %w", err)
	}
	r := &FleetClosing{Fleet: c.voters.FleetID(), Left: found.Left, Until: c.opts.clock.Now().Wall().Add(found.Left)}
	for i, reason := range reasons {
		if reason == nil {
			r.Closed = append(r.Closed, c.masters[i].Name())
			continue
		}
		if r.Open == nil {
			r.Open = &multierror.Error{ErrorFormat: joinNodes}
		}
		r.Open.Errors = append(r.Open.Errors, &NodeError{Master: c.masters[i].Name(), Op: "close fleet", Err: publicCause(reason)})
	}
	if !found.Done {
		return r, &QuorumError{
			Op: "close fleet", OK: len(r.Closed), Need: len(c.masters) - c.need + 1, Total: len(c.masters),
			Elapsed: time.Since(began), Nodes: r.Open, kind: ErrNoQuorum,
		}
	}
	return r, nil
}

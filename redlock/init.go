package redlock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/go-multierror"
)

// An InitOption changes what Init does.
type InitOption func(*initOptions)

type initOptions struct{ force bool }

// ForceInit makes Init write the markers anew where there are some: to change
// MaxTTL, the number of masters or the guard level of a fleet. All masters then
// vote after the quarantine, when whatever was locked under the old settings has
// expired. Stop or reconfigure the clients first: those with the old settings
// find no master that lets them vote.
func ForceInit() InitOption { return func(o *initOptions) { o.force = true } }

// Init declares a new fleet: its masters vote at once. An operator does so, or
// a script that sets up masters, when no lock can be held on any of them; it is
// never part of a program's start, which could not know that.
//
// It asks all masters first, and does nothing unless each can be reached, is fit
// to be one and has no marker yet, but for what this client has just had written;
// of masters that all have the marker of this
// fleet and were declared new already it returns nil. The error is a
// *QuorumError that matches ErrNoQuorum and names every master and what its
// marker says. It blocks until ctx ends, at the most for 5 s.
func (c *Client) Init(ctx context.Context, opts ...InitOption) error {
	var o initOptions
	for _, opt := range opts {
		opt(&o)
	}
	switch {
	case c.voters == nil:
		return errors.New("redlock: init: WithGuard(GuardOff) keeps no markers: want GuardStandard or GuardStrict")
	case c.isClosed():
		return fmt.Errorf("redlock: init: %w", ErrClosed)
	}
	began := time.Now()
	reasons, err := c.voters.Init(ctx, o.force)
	if err != nil {
		return fmt.Errorf("redlock: init: %w", err)
	}
	return c.initError(reasons, began)
}

// initError is the error of an Init that has these reasons; nil: there are none.
func (c *Client) initError(reasons []error, began time.Time) error {
	e := &QuorumError{
		Op: "init", Need: len(reasons), Total: len(reasons), kind: ErrNoQuorum,
		Elapsed: time.Since(began), Nodes: &multierror.Error{ErrorFormat: joinNodes},
	}
	for i, err := range reasons {
		if err == nil {
			e.OK++
			continue
		}
		e.Nodes.Errors = append(e.Nodes.Errors, &NodeError{Master: c.masters[i].Name(), Op: e.Op, Err: err})
	}
	if e.OK == e.Total {
		return nil
	}
	return e
}

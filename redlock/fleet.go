package redlock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/go-multierror"
)

// Init declares a new fleet: its masters vote at once. An operator calls it, or a
// script that sets up masters, when no lock can be held on any of them. It is never
// part of a program's start: a program cannot know that.
//
// It asks all masters first. It does nothing unless each of them can be reached, is fit to be a
// master, and has no marker, or only a marker that it got because it had none and with which it
// does not vote yet. It refuses if a running client has seen a marker there before: the master has
// then lost its data. It returns nil if all masters have the marker of this fleet and were declared
// new before. It cannot tell one loss from a new fleet: all masters were emptied at once, and no
// running client has looked since, which takes up to 5 s. The error is a *QuorumError that matches
// ErrNoQuorum and names every master and what its marker says. It blocks for 5 s at most, and no
// longer than ctx.
func (c *Client) Init(ctx context.Context) error { return c.init(ctx, false) }

// InitForce is Init, but it also replaces markers, to change MaxTTL, the number of masters or the
// guard level of a fleet. All masters then vote only after the quarantine, when every lock of the
// old settings has expired. Stop or reconfigure the clients first: no master votes for a client
// with the old settings.
func (c *Client) InitForce(ctx context.Context) error { return c.init(ctx, true) }

func (c *Client) init(ctx context.Context, force bool) error {
	if err := c.check(ctx); err != nil {
		return fmt.Errorf("redlock: init: %w", err)
	}
	switch {
	case c.opts.guard == GuardOff:
		return fmt.Errorf("redlock: init: %w", errGuardOff)
	case c.isClosed():
		return endedBy(ctx, fmt.Errorf("redlock: init: %w", ErrClosed))
	}
	began := time.Now()
	reasons, err := c.voters.Init(ctx, force)
	if err != nil {
		return endedBy(ctx, fmt.Errorf("redlock: init: %w", err))
	}
	return endedBy(ctx, c.initError(reasons, began))
}

// initError makes the error of an Init from a reason for each master; nil: there are none.
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
		e.Nodes.Errors = append(e.Nodes.Errors, &NodeError{
			Master: c.group.Masters[i].Name(), Op: e.Op, Err: publicCause(err), position: i + 1,
		})
	}
	if e.OK == e.Total {
		return nil
	}
	return e
}

var errGuardOff = errors.New("WithGuard(GuardOff) keeps no markers: want GuardStandard or GuardStrict")

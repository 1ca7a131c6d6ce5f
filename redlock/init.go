package redlock

import (
	"context"
	"errors"
	"fmt"
	mathbits "math/bits"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-multierror"

	"github.com/redquorum/redquorum/internal/pipeline"
)

// An InitOption changes what Init does.
type InitOption func(*initOptions)

type initOptions struct {
	force   bool
	without []string
}

// ForceInit makes Init write the markers anew where there are some, to change
// MaxTTL, the number of masters or the guard level of a fleet. All masters then vote
// only after the quarantine, when every lock of the old settings has expired. Stop
// or reconfigure the clients first: no master votes for a client with the old
// settings.
func ForceInit() InitOption { return func(o *initOptions) { o.force = true } }

// InitWithout names masters that are absent, by the addresses that MasterReport has:
// a minority, and out of reach. Init then declares only the others, and they vote at
// once. Each absent master is adopted when it comes, and votes after its quarantine.
// If it comes with a marker of its own, the fleet was not new, and the others lose
// their vote for a quarantine.
func InitWithout(masters ...string) InitOption {
	return func(o *initOptions) { o.without = append(o.without, masters...) }
}

// Init declares a new fleet: its masters vote at once. An operator calls it, or a
// script that sets up masters, when no lock can be held on any of them. It is never
// part of a program's start: a program cannot know that.
//
// It asks all masters first, and does nothing unless each of them can be reached or
// is named by InitWithout; is fit to be a master; and has no marker, or only a
// marker that it got because it had none, and by which it does not vote yet. It
// returns nil if all masters have the marker of this fleet and were declared new
// before. The error is a *QuorumError that matches ErrNoQuorum and names every
// master and what its marker says. It blocks until ctx ends, at the most for 5 s.
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
	without, err := c.absent(o.without)
	if err != nil {
		return fmt.Errorf("redlock: init: %w", err)
	}
	began := time.Now()
	reasons, err := c.voters.Init(ctx, o.force, without)
	if err != nil {
		return fmt.Errorf("redlock: init: %w", err)
	}
	return c.initError(reasons, began)
}

// absent finds the masters that InitWithout names, as bits.
func (c *Client) absent(names []string) (bits uint64, err error) {
	for _, name := range names {
		i := slices.IndexFunc(c.masters, func(m *pipeline.Pipeline) bool { return m.Name() == name })
		if i < 0 {
			return 0, fmt.Errorf("InitWithout: %q: want one of the masters %s", name, c.names())
		}
		bits |= 1 << i
	}
	if most, n := len(c.masters)-c.need, mathbits.OnesCount64(bits); n > most {
		return 0, fmt.Errorf("InitWithout: %d of %d masters: want %d at the most, so that a quorum is left", n, len(c.masters), most)
	}
	return bits, nil
}

// names lists the masters for people.
func (c *Client) names() string {
	names := make([]string, len(c.masters))
	for i, m := range c.masters {
		names[i] = m.Name()
	}
	return strings.Join(names, ", ")
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
		e.Nodes.Errors = append(e.Nodes.Errors, &NodeError{Master: c.masters[i].Name(), Op: e.Op, Err: publicCause(err)})
	}
	if e.OK == e.Total {
		return nil
	}
	return e
}

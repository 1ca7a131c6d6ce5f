package redlock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-multierror"

	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/quorum"
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
// refuses where a client that lives has seen a marker before: the master has lost its
// data then. It returns nil if all masters have the marker of this fleet and were declared new
// before. The error is a *QuorumError that matches ErrNoQuorum and names every
// master and what its marker says. It blocks until ctx ends, at the most for 5 s.
func (c *Client) Init(ctx context.Context, opts ...InitOption) error {
	var o initOptions
	for _, opt := range opts {
		opt(&o)
	}
	switch {
	case c.voters == nil:
		return fmt.Errorf("redlock: init: %w", errGuardOff)
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

// absent finds the masters that InitWithout names.
func (c *Client) absent(names []string) (found quorum.Bits, err error) {
	for _, name := range names {
		i := slices.IndexFunc(c.group.Masters, func(m *pipeline.Pipeline) bool { return m.Name() == name })
		if i < 0 {
			return 0, fmt.Errorf("InitWithout: %q: want one of the masters %s", name, c.names())
		}
		found.Add(i)
	}
	if most, n := len(c.group.Masters)-c.group.Need, found.Len(); n > most {
		return 0, fmt.Errorf("InitWithout: %d of %d masters: want %d at the most, so that a quorum is left", n, len(c.group.Masters), most)
	}
	return found, nil
}

// names lists the masters for people.
func (c *Client) names() string {
	names := make([]string, len(c.group.Masters))
	for i, m := range c.group.Masters {
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
		e.Nodes.Errors = append(e.Nodes.Errors, &NodeError{Master: c.group.Masters[i].Name(), Op: e.Op, Err: publicCause(err)})
	}
	if e.OK == e.Total {
		return nil
	}
	return e
}

// WithMovedTo says that this client takes part in the move of its fleet to another
// one: it takes every lock of this fleet in the other fleet, too. name is the name
// with which the fleet is closed: redlock fleet close --to. From then on only clients that take part get votes; the others
// are refused with AbstainMoved.
//
// For the id of the fleet that Moving leads to, package fleets says so by itself.
// This option is for moves with another name, such as that of a shard's keys. It may
// be given several times. 1 to 64 bytes, without spaces. It does nothing with
// GuardOff.
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

// A CloseOption changes what CloseFleet does.
type CloseOption func(*closeOptions)

type closeOptions struct{ force bool }

// ForceClose makes CloseFleet close a fleet that is being moved elsewhere already. Clients
// that take part in that move alone lose their votes.
func ForceClose() CloseOption { return func(o *closeOptions) { o.force = true } }

// CloseFleet closes the client's fleet to all clients that take no part in its move
// to the fleet of to, which is a client of the new masters. From then on every master's marker says where the fleet moves,
// and masters vote only for clients that name that place (WithMovedTo, or
// fleets.Moving). An operator calls it when all clients should take every lock in
// both fleets. A client that was forgotten is refused, with the reason. For the
// others the votes go on without interruption.
//
// When it returns without an error, so many masters are closed that the remaining
// ones are no quorum. From then on so many of them must not lose their data, unless
// clients that take part are there to tell them again. Locks granted before may still
// be held until FleetClosing.Left has passed; then the new fleet may be used alone. A
// further call says how much longer that takes. Init with ForceInit opens the fleet
// again.
//
// A fleet that is being moved elsewhere already is refused with both names, unless
// ForceClose is given. Two closings at one moment may both be done in part: then they
// return an error that matches ErrNoQuorum and has both names, and clients that take part
// in one of them alone get no votes until one closing is run again, with ForceClose. A
// fleet of to that is being moved itself is refused in any case.
//
// Calls of clients that take part go on: a try, an Extend or a Verify that meets the
// closing is repeated once. The error is a *QuorumError that matches ErrNoQuorum where too few masters could be told; the
// FleetClosing says which ones were. It blocks until ctx ends, at the most for 10 s.
func (c *Client) CloseFleet(ctx context.Context, to *Client, opts ...CloseOption) (*FleetClosing, error) {
	var o closeOptions
	for _, opt := range opts {
		opt(&o)
	}
	id, err := to.newFleetID(ctx)
	if err != nil {
		return nil, fmt.Errorf("redlock: close fleet: to: %w", err)
	}
	return c.closeFleet(ctx, id, o.force)
}

// newFleetID is the id of the client's fleet, for others that are moved to it.
func (c *Client) newFleetID(ctx context.Context) (string, error) {
	switch {
	case c == nil:
		return "", errors.New("it is nil: want a client of the new fleet")
	case c.voters == nil:
		return "", errGuardOff
	case c.isClosed():
		return "", ErrClosed
	}
	id, to, err := c.voters.AwaitFleetID(ctx)
	switch {
	case err != nil:
	case to != "":
		err = fmt.Errorf("that fleet is being moved itself, to %q: want the fleet that clients are to use in the end; open it again first (redlock init --force), or give the move a name (WithMovedTo, redlock fleet close --to)", to)
	case id == "":
		err = fmt.Errorf("too few of its masters (%s) say which fleet they are of: declare it first (Client.Init), or see that they answer", c.names())
	}
	return id, err
}

var errGuardOff = errors.New("WithGuard(GuardOff) keeps no markers: want GuardStandard or GuardStrict")

// closeFleet is CloseFleet with the name of a move.
func (c *Client) closeFleet(ctx context.Context, to string, force bool) (*FleetClosing, error) {
	switch err := guard.CheckMove(to); {
	case err != nil:
		return nil, fmt.Errorf("redlock: close fleet: %w", err)
	case c.voters == nil:
		return nil, fmt.Errorf("redlock: close fleet: %w", errGuardOff)
	case c.isClosed():
		return nil, fmt.Errorf("redlock: close fleet: %w", ErrClosed)
	case c.voters.FleetID() == to:
		return nil, fmt.Errorf("redlock: close fleet: to is %q, the id of this fleet: want that of another", to)
	}
	began := time.Now()
	found, reasons, err := c.voters.CloseFleet(ctx, to, force)
	switch {
	case err != nil:
		return nil, fmt.Errorf("redlock: close fleet: %w", err)
	case found.Elsewhere != "" && len(found.Closed) == 0:
		return nil, fmt.Errorf("redlock: close fleet: it is being moved to %q already, and not to %q: nothing was written; finish that move, or use ForceClose", found.Elsewhere, to)
	}
	r := &FleetClosing{Fleet: c.voters.FleetID(), Left: found.Left, Until: c.opts.clock.Now().Wall().Add(found.Left)}
	for i, reason := range reasons {
		if reason == nil {
			r.Closed = append(r.Closed, c.group.Masters[i].Name())
			continue
		}
		if r.Open == nil {
			r.Open = &multierror.Error{ErrorFormat: joinNodes}
		}
		r.Open.Errors = append(r.Open.Errors, &NodeError{Master: c.group.Masters[i].Name(), Op: "close fleet", Err: publicCause(reason)})
	}
	switch {
	case found.Elsewhere != "":
		return r, fmt.Errorf("redlock: close fleet: %w: another closing, to %q, is under way beside this one, to %q, which is on %s alone: run one of them again, with ForceClose (redlock fleet close --force), and no longer the other: %w",
			ErrNoQuorum, found.Elsewhere, to, strings.Join(r.Closed, ", "), r.Open.ErrorOrNil())
	case !found.Done:
		return r, &QuorumError{
			Op: "close fleet", OK: len(r.Closed), Need: len(c.group.Masters) - c.group.Need + 1, Total: len(c.group.Masters),
			Elapsed: time.Since(began), Nodes: r.Open, kind: ErrNoQuorum,
		}
	}
	return r, nil
}

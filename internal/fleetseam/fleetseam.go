// Package fleetseam gives package fleets, and the command fleet close, what they need from a client and is not in the
// public API. Package redlock fills it in when it is loaded. Packages outside of the
// repository cannot import it.
package fleetseam

import (
	"context"
	"time"
)

// A Client is a *redlock.Client. It is safe for concurrent use.
type Client interface {
	// FleetID is the id that a quorum of the markers have; "": it is not known now, or
	// there are none.
	FleetID() string
	// Guarded reports whether the client's masters have markers.
	Guarded() bool
	// Servers are the masters, in the order of the list.
	Servers() []Server
	// JoinMove says that the client takes every lock in the fleet with this id, too.
	JoinMove(name string)
	// CloseFleet closes the fleet under the name of a move, which need not be the id of a
	// fleet. The rest is as redlock.Client.CloseFleet says; the result is a
	// *redlock.FleetClosing.
	CloseFleet(ctx context.Context, to string, force bool) (any, error)
	// Pause waits for a random time below most, or until ctx or the client ends.
	Pause(ctx context.Context, most time.Duration)
	// SetName gives the client the name of its fleet, for errors, unless it has one.
	SetName(name string)
}

// A Server is what a master is known by.
type Server struct {
	Name  string // address
	DB    int    // number of the database
	RunID string // of the process; "": not known
}

// A Hold is a *redlock.Lock. It is safe for concurrent use.
type Hold interface {
	// Name is that of the client's fleet, as SetName set it.
	Name() string
	// Fenced reports whether it has a fencing token.
	Fenced() bool
	// Raise stores a higher fencing token at a quorum, and makes it that of the hold.
	// It is called before anybody but traces has the hold. It waits for the masters'
	// timeout at the most.
	Raise(ctx context.Context, token uint64) error
	// Run runs fn under the hold and unlocks, as Client.Do does; Close waits for it.
	Run(ctx context.Context, fn func(ctx context.Context) error) error
}

// ClientOf takes a *redlock.Client, HoldOf a *redlock.Lock. Floor gives the
// redlock.LockOption with which an acquisition proposes this fencing token, instead
// of one that it reads from the clock: the least that it gets.
var (
	ClientOf func(client any) Client
	HoldOf   func(lock any) Hold
	Floor    func(token uint64) any
)

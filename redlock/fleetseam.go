package redlock

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/redquorum/redquorum/internal/fleetseam"
)

// What package fleets needs and is no public API.

func init() {
	fleetseam.ClientOf = func(client any) fleetseam.Client { return (*fleetClient)(client.(*Client)) }
	fleetseam.HoldOf = func(lock any) fleetseam.Hold { return (*fleetHold)(lock.(*Lock)) }
	fleetseam.Floor = func(token uint64) any {
		return lockOption(func(o *lockOptions) error {
			o.floor = token
			return nil
		})
	}
}

// A fleetName is what a client's fleet is called, for errors; nil: it has no name.
type fleetName struct{ name atomic.Pointer[string] }

// A fleetClient is a client as package fleets sees it.
type fleetClient Client

// FleetID implements fleetseam.Client.
func (f *fleetClient) FleetID() string { return f.voters.FleetID() }

// Guarded implements fleetseam.Client.
func (f *fleetClient) Guarded() bool { return f.voters != nil }

// Servers implements fleetseam.Client.
func (f *fleetClient) Servers() []fleetseam.Server {
	servers := make([]fleetseam.Server, len(f.group.Masters))
	for i, m := range f.group.Masters {
		servers[i] = fleetseam.Server{Name: m.Name(), DB: m.DB(), RunID: m.Stats().RunID}
	}
	return servers
}

// CloseFleet implements fleetseam.Client.
func (f *fleetClient) CloseFleet(ctx context.Context, to string, force bool) (any, error) {
	return (*Client)(f).closeFleet(ctx, to, force)
}

// Pause implements fleetseam.Client.
func (f *fleetClient) Pause(ctx context.Context, most time.Duration) {
	t := time.NewTimer(max(1, f.opts.chance.N("fleets", most)))
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	case <-f.group.Life.Done():
	}
}

// JoinMove implements fleetseam.Client.
func (f *fleetClient) JoinMove(name string) { f.voters.JoinMove(name) }

// SetName implements fleetseam.Client.
func (f *fleetClient) SetName(name string) { f.fleet.name.CompareAndSwap(nil, &name) }

// A fleetHold is a lock as package fleets sees it.
type fleetHold Lock

// Name implements fleetseam.Hold.
func (h *fleetHold) Name() string {
	if name := h.c.fleet.name.Load(); name != nil {
		return *name
	}
	return ""
}

// Fenced implements fleetseam.Hold.
func (h *fleetHold) Fenced() bool { return h.handle.Hold().Claim().Fenced }

// Run implements fleetseam.Hold.
func (h *fleetHold) Run(ctx context.Context, fn func(ctx context.Context) error) error {
	return h.c.doHeld(ctx, (*Lock)(h), nil, fn)
}

// Raise implements fleetseam.Hold.
func (h *fleetHold) Raise(ctx context.Context, token uint64) error {
	if failed := h.handle.Raise(ctx, token); failed != nil {
		return h.c.quorumError(failed)
	}
	return nil
}

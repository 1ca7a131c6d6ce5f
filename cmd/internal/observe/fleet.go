package observe

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/voters"
	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

// A Fleet is the masters that are used together, with one connection to each for all commands.
type Fleet struct {
	URLs  []string // may hold passwords, and are never printed
	Lines []*Master
	Pool  *pool.Pool
	// Client is for inspections. It believes every master, gives none a marker, and takes no lock.
	Client *redlock.Client

	maxTTL, skew time.Duration   // from the flags; 0: not given
	monitor      *voters.Monitor // nil: Look was not called yet
	judgedBy     guard.Config    // the settings of the monitor
}

// OpenFleet begins to connect to the masters of the flags, which are one fleet. The caller must close it.
func OpenFleet(cmd *cobra.Command, a *app.App, shared *app.SharedFlags, access *app.AccessFlags) (*Fleet, error) {
	urls, err := shared.NamedMasters(cmd, a)
	if err != nil {
		return nil, err
	}
	opts, err := access.Pool(cmd.Context())
	if err != nil {
		return nil, err
	}
	p, err := pool.New(urls, opts...)
	if err != nil {
		return nil, app.InFlags(err)
	}
	f := &Fleet{URLs: urls, Lines: mastersOf(p), Pool: p, maxTTL: shared.MaxTTL, skew: shared.Skew}
	f.Client, err = redlock.New(p, redlock.WithGuard(redlock.GuardOff))
	if err != nil {
		f.Close()
		return nil, app.InFlags(err)
	}
	return f, nil
}

// Close ends the connections.
func (f *Fleet) Close() {
	if f.monitor != nil {
		f.monitor.Close()
	}
	if f.Client != nil {
		f.Client.Close()
	}
	_ = f.Pool.Close() // it returns no error
}

// Await waits until each master is connected or known to be away, at most for ConnectBound.
func (f *Fleet) Await(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, app.ConnectBound)
	defer cancel()
	for _, line := range f.Lines {
		_ = line.Connect(ctx) // later commands return why one is not connected
	}
}

// An Inspector asks all masters who holds a key; redlock.Client is one.
type Inspector interface {
	Inspect(ctx context.Context, key string) (*redlock.Inspection, error)
}

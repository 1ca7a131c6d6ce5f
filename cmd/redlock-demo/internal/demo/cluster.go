package demo

import (
	"context"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// A Client is what the demonstration uses of *redlock.Client.
type Client interface {
	Do(ctx context.Context, key string, fn func(ctx context.Context) error, opts ...redlock.LockOption) error
	TryLock(ctx context.Context, key string, opts ...redlock.LockOption) (*redlock.Lock, error)
	Masters(ctx context.Context) []redlock.MasterReport
	Ready(ctx context.Context) error
	Close() error
}

// A Cluster is the masters that the lock lives on.
type Cluster interface {
	Kind() Kind
	// URLs may hold passwords and are never printed.
	URLs() []string
	// Version names the software of the masters, "" where it is not known.
	Version() string
	// Close ends what the cluster started, within 10 s. It is idempotent.
	Close() error
}

// An Owner is a Cluster whose masters the demonstration may kill. Masters are
// numbered from 0, in the order of URLs.
type Owner interface {
	Cluster
	// Kill ends a master as a crash would and returns when it is gone, within
	// 10 s.
	Kill(n int) error
	// Restart starts a killed master again with the data it had, at the same
	// address, within 10 s.
	Restart(ctx context.Context, n int) error
}

// A Breaker is an Owner whose masters take more faults than being killed.
type Breaker interface {
	Owner
	// Forget starts a master again without its data, killing it first where it
	// runs, within 20 s.
	Forget(ctx context.Context, n int) error
	// Freeze stops a master as SIGSTOP does; Thaw lets it go on. A master that
	// is not there is an error, or nothing happens.
	Freeze(n int) error
	Thaw(n int) error
	// SetClock sets a master's clock to this machine's plus offset. The error
	// matches errors.ErrUnsupported where it cannot be.
	SetClock(n int, offset time.Duration) error
}

// Kind says where the masters come from.
type Kind string

// The kinds of clusters.
const (
	KindEmbedded Kind = "embedded" // inside this process
	KindSpawned  Kind = "spawned"  // processes of our own
	KindGiven    Kind = "given"    // somebody else's
)

// Given is the masters at the URLs, which somebody else runs. The URLs are
// checked by Run.
func Given(urls []string) Cluster { return given(urls) }

type given []string

func (given) Kind() Kind       { return KindGiven }
func (g given) URLs() []string { return g }
func (given) Version() string  { return "" }
func (given) Close() error     { return nil }

package demo

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/internal/simmaster"
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

// Embedded starts n masters in this process, each on a loopback port of its
// own. The caller must Close it.
func Embedded(n int) (Breaker, error) {
	c, err := simmaster.StartCluster(n)
	if err != nil {
		return nil, err
	}
	return Embed(c), nil
}

// Embed is masters of this process that have been started already.
func Embed(c *simmaster.Cluster) Breaker { return &embedded{c, c.Masters()} }

type embedded struct {
	cluster *simmaster.Cluster
	masters []*simmaster.Master
}

func (e *embedded) Kind() Kind     { return KindEmbedded }
func (e *embedded) URLs() []string { return e.cluster.URLs() }

func (e *embedded) Version() string {
	const module = "github.com/alicebob/miniredis/v2"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range info.Deps {
			if dep.Path == module {
				return "miniredis " + dep.Version
			}
		}
	}
	return "miniredis" // a test binary does not list its modules
}

func (e *embedded) Kill(n int) error {
	e.masters[n].Kill()
	return nil
}

// Restart keeps the data. A master that forgets what it has granted can break
// the lock, and is not what is shown here.
func (e *embedded) Restart(_ context.Context, n int) error { return e.masters[n].Restart(true) }

func (e *embedded) Forget(_ context.Context, n int) error { return e.masters[n].Restart(false) }

func (e *embedded) Freeze(n int) error {
	e.masters[n].Freeze()
	return nil
}

func (e *embedded) Thaw(n int) error {
	e.masters[n].Thaw()
	return nil
}

func (e *embedded) SetClock(n int, offset time.Duration) error {
	e.masters[n].SetClockOffset(offset)
	return nil
}

func (e *embedded) Close() error {
	e.cluster.Close()
	return nil
}

// Spawn starts n processes of the redis-server that redistest.Find finds. Each has a
// loopback port and a temporary directory of its own, and writes to disk before it
// answers. ctx bounds the start. The caller must Close it.
func Spawn(ctx context.Context, n int) (Breaker, error) {
	path, version, err := redistest.Find()
	if err != nil {
		return nil, err
	}
	c, err := redistest.LaunchN(ctx, n, redistest.Config{AppendOnly: redistest.AppendAlways})
	if err != nil {
		return nil, err
	}
	return &spawned{c, fmt.Sprintf("redis-server %s (%s)", version, path)}, nil
}

type spawned struct {
	cluster *redistest.Cluster
	version string
}

func (s *spawned) Kind() Kind       { return KindSpawned }
func (s *spawned) URLs() []string   { return s.cluster.URLs() }
func (s *spawned) Version() string  { return s.version }
func (s *spawned) Kill(n int) error { return s.cluster.Masters[n].Kill() }
func (s *spawned) Close() error     { return s.cluster.Close() }

func (s *spawned) Restart(ctx context.Context, n int) error {
	return s.cluster.Masters[n].Restart(ctx, true)
}

func (s *spawned) Forget(ctx context.Context, n int) error {
	return s.cluster.Masters[n].Restart(ctx, false)
}

func (s *spawned) Freeze(n int) error { return s.cluster.Masters[n].Freeze() }
func (s *spawned) Thaw(n int) error   { return s.cluster.Masters[n].Thaw() }

// SetClock: a process has the machine's clock.
func (s *spawned) SetClock(int, time.Duration) error {
	return fmt.Errorf("the clock of a process is the machine's: %w", errors.ErrUnsupported)
}

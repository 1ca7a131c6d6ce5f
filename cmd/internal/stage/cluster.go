package stage

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/internal/simmaster"
)

// Masters is how many masters a cluster of a program's own has.
const Masters = 5

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

// A Breaker is a Cluster of our own, whose masters take faults. They are numbered from 0, in the order of URLs.
type Breaker interface {
	Cluster
	// Kill ends a master as a crash would and returns when it is gone, within
	// 10 s.
	Kill(n int) error
	// Restart starts a master again at the same address, with its data or empty,
	// killing it first where it runs, within 20 s.
	Restart(ctx context.Context, n int, keepData bool) error
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

// Whose is where they are, as people read it behind "5 masters".
func (k Kind) Whose() string {
	switch k {
	case KindEmbedded:
		return "in this process"
	case KindSpawned:
		return "in processes of their own"
	default:
		return "that others run"
	}
}

// Given is the masters at the URLs, which somebody else runs. The URLs are
// checked by New.
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
func Embed(c *simmaster.Cluster) Breaker { return &InProcess{c, c.Masters()} }

// An InProcess is masters of this process, for tests.
type InProcess struct {
	cluster *simmaster.Cluster
	Masters []*simmaster.Master
}

func (e *InProcess) Kind() Kind     { return KindEmbedded }
func (e *InProcess) URLs() []string { return e.cluster.URLs() }

func (e *InProcess) Version() string {
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

func (e *InProcess) Kill(n int) error {
	e.Masters[n].Kill()
	return nil
}

func (e *InProcess) Restart(_ context.Context, n int, keepData bool) error {
	return e.Masters[n].Restart(keepData)
}

func (e *InProcess) Freeze(n int) error {
	e.Masters[n].Freeze()
	return nil
}

func (e *InProcess) Thaw(n int) error {
	e.Masters[n].Thaw()
	return nil
}

func (e *InProcess) SetClock(n int, offset time.Duration) error {
	e.Masters[n].SetClockOffset(offset)
	return nil
}

func (e *InProcess) Close() error {
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
	*redistest.Cluster
	version string
}

func (s *spawned) Kind() Kind       { return KindSpawned }
func (s *spawned) Version() string  { return s.version }
func (s *spawned) Kill(n int) error { return s.Masters[n].Kill() }

func (s *spawned) Freeze(n int) error { return s.Masters[n].Freeze() }
func (s *spawned) Thaw(n int) error   { return s.Masters[n].Thaw() }

func (s *spawned) Restart(ctx context.Context, n int, keepData bool) error {
	return s.Masters[n].Restart(ctx, keepData)
}

// SetClock: a process has the machine's clock.
func (s *spawned) SetClock(int, time.Duration) error {
	return fmt.Errorf("the clock of a process is the machine's: %w", errors.ErrUnsupported)
}

package stage

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/internal/simmaster"
)

// Masters is how many masters a cluster of a program's own has.
const Masters = 5

// A Cluster is the masters that the lock lives on.
type Cluster struct {
	Kind    Kind
	URLs    []string // may hold passwords, and are never printed
	Version string   // names the software of the masters; "": it is not known
	Masters []Master // of our own, in the order of URLs; nil: others run them
	// Close ends what was started, within 10 s. It is idempotent.
	Close func() error
}

// A Master takes faults. A *redistest.Server is one.
type Master interface {
	// Kill ends it as a crash would and returns when it is gone, within 10 s.
	Kill() error
	// Restart starts it again at the same address, with its data or empty, killing
	// it first where it runs, within 20 s.
	Restart(ctx context.Context, keepData bool) error
	// Freeze stops it as SIGSTOP does; Thaw lets it go on. Where it is not there
	// that is an error, or nothing happens.
	Freeze() error
	Thaw() error
	// SetClock sets its clock to this machine's plus offset, if it has one of its own.
	SetClock(offset time.Duration) error
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
func Given(urls []string) Cluster {
	return Cluster{Kind: KindGiven, URLs: urls, Close: func() error { return nil }}
}

// Embedded starts n masters in this process, each on a loopback port of its
// own. The caller must Close it.
func Embedded(n int) (Cluster, error) {
	c, err := simmaster.StartCluster(n)
	if err != nil {
		return Cluster{}, err
	}
	return Embed(c), nil
}

// Embed is masters of this process that have been started already.
func Embed(c *simmaster.Cluster) Cluster {
	cluster := Cluster{Kind: KindEmbedded, URLs: c.URLs(), Version: miniredis(), Close: func() error { c.Close(); return nil }}
	for _, m := range c.Masters() {
		cluster.Masters = append(cluster.Masters, InProcess{m})
	}
	return cluster
}

func miniredis() string {
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

// An InProcess is a master of this process.
type InProcess struct{ Sim *simmaster.Master }

func (m InProcess) Kill() error                                { m.Sim.Kill(); return nil }
func (m InProcess) Restart(_ context.Context, keep bool) error { return m.Sim.Restart(keep) }
func (m InProcess) Freeze() error                              { m.Sim.Freeze(); return nil }
func (m InProcess) Thaw() error                                { m.Sim.Thaw(); return nil }
func (m InProcess) SetClock(offset time.Duration) error        { m.Sim.SetClockOffset(offset); return nil }

// Spawn starts n processes of the redis-server that redistest.Find finds. Each has a
// loopback port and a temporary directory of its own, and writes to disk before it
// answers. ctx bounds the start. The caller must Close it.
func Spawn(ctx context.Context, n int) (Cluster, error) {
	path, version, err := redistest.Find()
	if err != nil {
		return Cluster{}, err
	}
	c, err := redistest.LaunchN(ctx, n, redistest.Config{AppendOnly: redistest.AppendAlways})
	if err != nil {
		return Cluster{}, err
	}
	cluster := Cluster{Kind: KindSpawned, URLs: c.URLs(), Version: fmt.Sprintf("redis-server %s (%s)", version, path), Close: c.Close}
	for _, m := range c.Masters {
		cluster.Masters = append(cluster.Masters, m)
	}
	return cluster, nil
}

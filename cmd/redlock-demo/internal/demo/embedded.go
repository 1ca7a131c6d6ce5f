package demo

import (
	"context"
	"runtime/debug"
	"time"

	"github.com/redquorum/redquorum/internal/simmaster"
)

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

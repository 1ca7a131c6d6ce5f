package demo

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/internal/simmaster"
)

// ownMasters is how many masters the program starts.
const ownMasters = 5

// A Cluster is the masters on which the lock is taken.
type Cluster struct {
	Kind    Kind
	URLs    []string // may hold passwords, and are never printed
	Version string   // names the software of the masters; "": it is not known
	Servers []Server // of our own, in the order of URLs; nil: others run them
	// Close ends what was started, within 10 s. It is idempotent.
	Close func() error
}

// A Server is a master of our own. A *redistest.Server is one.
type Server interface {
	// Kill ends it as a crash would and returns when it is gone, within 10 s.
	Kill() error
	// Restart starts it again at the same address, with its data or empty, within 20 s.
	// A master that runs is killed first.
	Restart(ctx context.Context, keepData bool) error
}

// Kind says where the masters come from.
type Kind string

// The kinds of clusters.
const (
	KindEmbedded Kind = "embedded" // inside this process
	KindSpawned  Kind = "spawned"  // processes of our own
	KindGiven    Kind = "given"    // somebody else's
)

// location returns the text behind "5 masters" that says where they run.
func (k Kind) location() string {
	switch k {
	case KindEmbedded:
		return "in this process"
	case KindSpawned:
		return "in processes of their own"
	default:
		return "that others run"
	}
}

// given returns the cluster of the masters at the URLs, which somebody else runs.
func given(urls []string) Cluster {
	return Cluster{Kind: KindGiven, URLs: urls, Close: func() error { return nil }}
}

// embedded starts n masters in this process, each on a loopback port. The caller must Close it.
func embedded(n int) (Cluster, error) {
	c, err := simmaster.StartCluster(n)
	if err != nil {
		return Cluster{}, cannotStart(err)
	}
	cluster := Cluster{
		Kind:    KindEmbedded,
		URLs:    c.URLs(),
		Version: miniredis(),
		Close:   func() error { c.Close(); return nil },
	}
	for _, m := range c.Masters() {
		cluster.Servers = append(cluster.Servers, inProcess{m})
	}
	return cluster, nil
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

// An inProcess is a master in this process.
type inProcess struct{ sim *simmaster.Master }

func (m inProcess) Kill() error                                { m.sim.Kill(); return nil }
func (m inProcess) Restart(_ context.Context, keep bool) error { return m.sim.Restart(keep) }

// cluster returns the masters that the flags and the environment ask for. The caller must Close it.
func (o *command) cluster(cmd *cobra.Command) (Cluster, error) {
	changed := cmd.Flags().Changed
	switch {
	case changed("spawn") && changed("masters"):
		return Cluster{}, app.Usagef("--spawn and --masters exclude each other: " +
			"--spawn starts masters, --masters names existing ones")
	case changed("spawn"):
		return spawned(cmd.Context(), o.spawn)
	case changed("masters") || o.Env(app.MastersVariable) != "":
		urls, err := o.NamedMasters(cmd, o.App)
		return given(urls), err
	}
	return embedded(ownMasters)
}

// spawned starts processes of the binary that --spawn names. Each has its own loopback port and
// temporary directory, and writes to disk before it answers. Package redistest takes the choice of
// the binary from the environment.
func spawned(ctx context.Context, binary string) (Cluster, error) {
	if strings.TrimSpace(binary) == "" {
		return Cluster{}, app.Usagef("--spawn names no binary: want a path or a name such as redis-server")
	}
	if _, err := exec.LookPath(binary); err != nil {
		return Cluster{}, app.Usagef("--spawn: %w", err)
	}
	if err := os.Setenv(redistest.ServerVariable, binary); err != nil {
		return Cluster{}, app.Usagef("--spawn %q: %w", binary, err)
	}
	path, version, err := redistest.Find()
	if err != nil {
		return Cluster{}, app.Usagef("--spawn: %s is no redis-server: %s", binary, oneLine(err))
	}
	c, err := redistest.LaunchN(ctx, ownMasters, redistest.Config{AppendOnly: redistest.AppendAlways})
	if err != nil {
		if ctx.Err() != nil {
			return Cluster{}, context.Cause(ctx)
		}
		return Cluster{}, cannotStart(err)
	}
	cluster := Cluster{
		Kind:    KindSpawned,
		URLs:    c.URLs(),
		Version: fmt.Sprintf("redis-server %s (%s)", version, path),
		Close:   c.Close,
	}
	for _, m := range c.Masters {
		cluster.Servers = append(cluster.Servers, m)
	}
	return cluster, nil
}

func cannotStart(err error) error {
	return app.EndsWith(app.ExitOS, fmt.Errorf("starting the masters: %w", err))
}

// oneLine returns an error of package redistest without the binary's output that it may quote.
func oneLine(err error) string {
	text := strings.TrimPrefix(err.Error(), "redistest: ")
	text, _, _ = strings.Cut(text, " in its output ")
	text, _, _ = strings.Cut(text, "\n")
	return text
}

package stage

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/internal/redistest"
)

// Start starts masters of our own: embedded ones, or processes where --spawn was given. The caller must close them.
func Start(cmd *cobra.Command, spawn string) (Cluster, error) {
	if cmd.Flags().Changed("spawn") {
		return startSpawned(cmd.Context(), spawn)
	}
	cluster, err := Embedded(Masters)
	if err != nil {
		return Cluster{}, cannotStart(err)
	}
	return cluster, nil
}

func cannotStart(err error) error {
	return app.EndsWith(app.ExitOS, fmt.Errorf("starting the masters: %w", err))
}

// startSpawned starts masters of the binary that --spawn names. Package redistest is
// told of it as of any other choice of the binary: by the environment.
func startSpawned(ctx context.Context, binary string) (Cluster, error) {
	if strings.TrimSpace(binary) == "" {
		return Cluster{}, app.Usagef("--spawn names no binary: want a path or a name such as redis-server")
	}
	if _, err := exec.LookPath(binary); err != nil {
		return Cluster{}, app.Usagef("--spawn: %w", err)
	}
	if err := os.Setenv(redistest.ServerVariable, binary); err != nil {
		return Cluster{}, app.Usagef("--spawn %q: %w", binary, err)
	}
	if err := redistest.Available(); err != nil {
		return Cluster{}, app.Usagef("--spawn: %s is no redis-server: %s", binary, oneLine(err))
	}
	cluster, err := Spawn(ctx, Masters)
	if err != nil {
		if ctx.Err() != nil {
			return Cluster{}, context.Cause(ctx)
		}
		return Cluster{}, cannotStart(err)
	}
	return cluster, nil
}

// oneLine is an error of package redistest without the output of the binary
// that it may quote.
func oneLine(err error) string {
	text := strings.TrimPrefix(err.Error(), "redistest: ")
	text, _, _ = strings.Cut(text, " in its output ")
	text, _, _ = strings.Cut(text, "\n")
	return text
}

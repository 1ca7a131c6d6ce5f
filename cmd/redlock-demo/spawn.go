package main

import (
	"context"
	"os"
	"os/exec"
	"strings"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/demo"
	"github.com/redquorum/redquorum/internal/redistest"
)

// embedded starts n masters in this process.
func embedded(n int) (demo.Breaker, error) {
	cluster, err := demo.Embedded(n)
	if err != nil {
		return nil, &startError{err}
	}
	return cluster, nil
}

// spawned starts n masters of the binary that --spawn names. Package redistest is
// told of it as of any other choice of the binary: by the environment.
func spawned(ctx context.Context, binary string, n int) (demo.Breaker, error) {
	if strings.TrimSpace(binary) == "" {
		return nil, usagef("--spawn names no binary: want a path or a name such as redis-server")
	}
	if _, err := exec.LookPath(binary); err != nil {
		return nil, usagef("--spawn: %w", err)
	}
	if err := os.Setenv(redistest.ServerVariable, binary); err != nil {
		return nil, usagef("--spawn %q: %w", binary, err)
	}
	if err := redistest.Available(); err != nil {
		return nil, usagef("--spawn: %s is no redis-server: %s", binary, oneLine(err))
	}
	cluster, err := demo.Spawn(ctx, n)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, &startError{err}
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

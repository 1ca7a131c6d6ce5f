package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redquorum/redquorum/internal/redistest"
)

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

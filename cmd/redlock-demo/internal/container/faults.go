package container

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
)

// Kill ends a master with SIGKILL, frozen or not, and returns when it is gone. A
// master that is down already is no error.
func (c *Cluster) Kill(n int) error { return c.kill(context.Background(), c.masters[n]) }

func (c *Cluster) kill(ctx context.Context, m *master) error {
	_, err := c.engine.run(ctx, commandBound, "kill", "--signal", "KILL", m.name)
	if err != nil && !strings.Contains(err.Error(), "is not running") {
		return err
	}
	// The engine may answer while it is still ending.
	_, err = c.engine.run(ctx, commandBound, "wait", m.name)
	return err
}

// Restart starts a master with the data that it had, killing it first where it
// runs.
func (c *Cluster) Restart(ctx context.Context, n int) error {
	m := c.masters[n]
	if err := c.kill(ctx, m); err != nil {
		return err
	}
	return c.startContainer(ctx, m)
}

// Forget makes a master's container anew, and so without its data.
func (c *Cluster) Forget(ctx context.Context, n int) error {
	m := c.masters[n]
	if _, err := c.engine.run(ctx, commandBound, "rm", "--force", "--volumes", m.name); err != nil && !gone(err) {
		return err
	}
	return c.launch(ctx, m)
}

// Freeze pauses a master; Thaw lets it go on. One that is so already is no error.
func (c *Cluster) Freeze(n int) error { return c.pause(n, "pause", "is already paused") }

// Thaw ends Freeze.
func (c *Cluster) Thaw(n int) error { return c.pause(n, "unpause", "is not paused") }

func (c *Cluster) pause(n int, verb, already string) error {
	_, err := c.engine.run(context.Background(), commandBound, verb, c.masters[n].name)
	if err != nil && strings.Contains(err.Error(), already) {
		return nil
	}
	return err
}

// SetClock: a container has the clock of the machine that it runs on.
func (c *Cluster) SetClock(int, time.Duration) error {
	return fmt.Errorf("the clock of a container is the machine's: %w", errors.ErrUnsupported)
}

// onNetwork is a Cluster whose masters are reached on their own network. It is a
// demo.Cutter.
type onNetwork struct{ *Cluster }

// Cut takes a master off the network: what is sent to it gets lost, both ways,
// while it goes on.
func (c *onNetwork) Cut(n int) error {
	m := c.masters[n]
	if m.cut {
		return nil
	}
	if err := c.disconnect(context.Background(), m); err != nil {
		return err
	}
	m.cut = true
	return nil
}

func (c *Cluster) disconnect(ctx context.Context, m *master) error {
	_, err := c.engine.run(ctx, commandBound, "network", "disconnect", "--force", c.network(), m.name)
	return err
}

// Heal puts a master back, at the address that it had.
func (c *onNetwork) Heal(n int) error {
	m := c.masters[n]
	if !m.cut {
		return nil
	}
	if _, err := c.engine.run(context.Background(), commandBound, "network", "connect", "--ip", m.ip, c.network(), m.name); err != nil {
		return err
	}
	m.cut = false
	return nil
}

var versionLine = regexp.MustCompile(`(?m)^redis_version:(\S+)`)

func (c *Cluster) askVersion(m *master) (string, error) {
	info, err := redis.String(ask(context.Background(), m.address, "INFO", "server"))
	if err != nil {
		return "", fmt.Errorf("asking %s for its version: %w", m.name, err)
	}
	version := "of an unknown version"
	if found := versionLine.FindStringSubmatch(info); found != nil {
		version = found[1]
	}
	return fmt.Sprintf("redis-server %s (%s)", version, c.engine.image), nil
}

package container

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/ory/dockertest/v3/docker"
)

const askBound = 3 * time.Second // one command, dialing included

// Do sends one command to a master on a connection of its own, and takes at most 3 s.
func (c *Cluster) Do(i int, cmd string, args ...any) (any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), askBound)
	defer cancel()
	conn, err := redis.DialContext(ctx, "tcp", c.Address(i),
		redis.DialReadTimeout(askBound), redis.DialWriteTimeout(askBound))
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	return conn.Do(cmd, args...)
}

func (c *Cluster) awaitAnswer(i int) error {
	var err error
	for deadline := time.Now().Add(settleBound); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if _, err = c.Do(i, "PING"); err == nil {
			return nil
		}
	}
	return fmt.Errorf("container %d does not answer at %s: %w", i, c.addresses[i], err)
}

// Kill ends masters with SIGKILL and waits until they are gone.
func (c *Cluster) Kill(which ...int) error {
	client := c.engine.pool.Client
	return atOnce(which, func(i int) error {
		if err := client.KillContainer(docker.KillContainerOptions{ID: c.ids[i], Signal: docker.SIGKILL}); err != nil {
			return err
		}
		for deadline := time.Now().Add(settleBound); ; time.Sleep(5 * time.Millisecond) {
			state, err := client.InspectContainer(c.ids[i])
			if err != nil {
				return err
			}
			if !state.State.Running {
				return nil
			}
			if time.Now().After(deadline) {
				return fmt.Errorf("container %d still runs %v after SIGKILL", i, settleBound)
			}
		}
	})
}

// Restart starts masters that were killed, at the addresses that they had and with nothing of
// their data, and waits until they answer.
func (c *Cluster) Restart(which ...int) error {
	return atOnce(which, func(i int) error {
		if err := c.engine.pool.Client.StartContainer(c.ids[i], nil); err != nil {
			return err
		}
		return c.awaitAnswer(i)
	})
}

// freezeTries is how often the engine is asked to pause a master. On a busy machine the engine
// gives up, and lets the processes go on, if it has not stopped all of them soon.
const freezeTries = 5

// Freeze stops all processes of masters.
func (c *Cluster) Freeze(which ...int) error {
	return atOnce(which, func(i int) error {
		var err error
		for range freezeTries {
			err = c.engine.pool.Client.PauseContainer(c.ids[i])
			if err == nil || !strings.Contains(err.Error(), "unable to freeze") {
				return err
			}
		}
		return err
	})
}

// Thaw lets them go on.
func (c *Cluster) Thaw(which ...int) error {
	return atOnce(which, func(i int) error { return c.engine.pool.Client.UnpauseContainer(c.ids[i]) })
}

// Cut takes masters off the network: they run on, and whatever is sent to or by them is lost.
func (c *Cluster) Cut(which ...int) error {
	return atOnce(which, func(i int) error {
		connection := docker.NetworkConnectionOptions{Container: c.ids[i], Force: true}
		return c.engine.pool.Client.DisconnectNetwork(c.network.Network.ID, connection)
	})
}

// Heal puts them back, at the addresses that they had.
func (c *Cluster) Heal(which ...int) error {
	return atOnce(which, func(i int) error {
		connection := docker.NetworkConnectionOptions{Container: c.ids[i], EndpointConfig: c.endpoint(i)}
		err := c.engine.pool.Client.ConnectNetwork(c.network.Network.ID, connection)
		if err != nil {
			return err
		}
		return c.awaitAnswer(i)
	})
}

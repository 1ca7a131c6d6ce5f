package container

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/ory/dockertest/v3/docker"
)

const askBound = 3 * time.Second // one command, dialing included

// Do sends one command to a master on a connection of its own, and takes at
// most 3 s.
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

// Restart starts masters that were killed, at the addresses that they had, and waits until
// they answer. With keepData they have what they had on disk, which without
// "--appendonly yes" is nothing.
func (c *Cluster) Restart(keepData bool, which ...int) error {
	client := c.engine.pool.Client
	return atOnce(which, func(i int) error {
		var err error
		if keepData {
			err = client.StartContainer(c.ids[i], nil)
		} else if err = client.RemoveContainer(docker.RemoveContainerOptions{ID: c.ids[i], Force: true, RemoveVolumes: true}); err == nil {
			err = c.create(i)
		}
		if err != nil {
			return err
		}
		return c.awaitAnswer(i)
	})
}

// freezeTries is how often the engine is asked to pause a master: it gives up
// itself, and lets the processes go on, where a busy machine has not stopped all
// of them soon.
const freezeTries = 5

// Freeze stops all processes of masters.
func (c *Cluster) Freeze(which ...int) error {
	return atOnce(which, func(i int) error {
		var err error
		for range freezeTries {
			if err = c.engine.pool.Client.PauseContainer(c.ids[i]); err == nil || !strings.Contains(err.Error(), "unable to freeze") {
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

// Cut takes masters off the network: what is sent to them gets lost, both ways,
// while they go on.
func (c *Cluster) Cut(which ...int) error {
	return atOnce(which, func(i int) error {
		c.healBy(i, c.rejoin)
		return c.engine.pool.Client.DisconnectNetwork(c.network.Network.ID, docker.NetworkConnectionOptions{Container: c.ids[i], Force: true})
	})
}

// rejoin puts a master back, at the address that it had.
func (c *Cluster) rejoin(i int) error {
	err := c.engine.pool.Client.ConnectNetwork(c.network.Network.ID, docker.NetworkConnectionOptions{Container: c.ids[i], EndpointConfig: c.endpoint(i)})
	if err != nil {
		return err
	}
	return c.awaitAnswer(i)
}

// Heal ends Cut and CutReplies.
func (c *Cluster) Heal(which ...int) error {
	return atOnce(which, func(i int) error {
		c.mu.Lock()
		heal := c.heal[i]
		delete(c.heal, i)
		c.mu.Unlock()
		if heal == nil {
			return nil
		}
		return heal(i)
	})
}

func (c *Cluster) healBy(i int, heal func(i int) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heal[i] = heal
}

// CanDrop is nil where CutReplies and HalfOpen work: beside the engine, as root, with
// nsenter and iptables.
func (c *Cluster) CanDrop() error {
	return c.iptables(0, "-n", "-L", "OUTPUT")
}

// CutReplies drops the packets that masters send: what is sent to them arrives,
// on connections that there are already, and nothing comes back.
func (c *Cluster) CutReplies(which ...int) error {
	drop := func(i int, verb string) error {
		return c.iptables(i, verb, "OUTPUT", "-p", "tcp", "--sport", "6379", "-j", "DROP")
	}
	return atOnce(which, func(i int) error {
		c.healBy(i, func(i int) error { return drop(i, "-D") })
		return drop(i, "-I")
	})
}

// HalfOpen drops what comes and goes on the connections that masters have now;
// new ones are served.
func (c *Cluster) HalfOpen(which ...int) error {
	return atOnce(which, func(i int) error {
		list, err := redis.String(c.Do(i, "CLIENT", "LIST", "TYPE", "NORMAL"))
		if err != nil {
			return err
		}
		for client := range strings.Lines(list) {
			_, after, _ := strings.Cut(client, " addr=")
			addr, _, _ := strings.Cut(after, " ")
			if strings.Contains(client, " cmd=client") {
				continue // this one, which asks
			}
			_, port, err := net.SplitHostPort(addr)
			if err != nil {
				return fmt.Errorf("container %d: %q: %w", i, client, err)
			}
			if err := c.iptables(i, "-I", "INPUT", "-p", "tcp", "--sport", port, "-j", "DROP"); err != nil {
				return err
			}
			if err := c.iptables(i, "-I", "OUTPUT", "-p", "tcp", "--dport", port, "-j", "DROP"); err != nil {
				return err
			}
		}
		return nil
	})
}

// iptables runs this machine's program in a container's network.
func (c *Cluster) iptables(i int, args ...string) error {
	state, err := c.engine.pool.Client.InspectContainer(c.ids[i])
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), settleBound)
	defer cancel()
	args = append([]string{"-t", strconv.Itoa(state.State.Pid), "-n", "iptables", "-w"}, args...)
	if out, err := exec.CommandContext(ctx, "nsenter", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("iptables in the network of container %d: %w: %s", i, err, out)
	}
	return nil
}

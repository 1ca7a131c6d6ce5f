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

// Restart starts masters that were killed, with what they have on disk, which
// without "--appendonly yes" is nothing; it waits until they answer.
func (c *Cluster) Restart(which ...int) error {
	return atOnce(which, func(i int) error {
		if err := c.engine.pool.Client.StartContainer(c.ids[i], nil); err != nil {
			return err
		}
		return c.awaitAnswer(i)
	})
}

// Renew starts masters anew, with nothing on disk, at the addresses that they
// had; it waits until they answer.
func (c *Cluster) Renew(which ...int) error {
	return atOnce(which, func(i int) error {
		err := c.engine.pool.Client.RemoveContainer(docker.RemoveContainerOptions{ID: c.ids[i], Force: true, RemoveVolumes: true})
		if err != nil {
			return err
		}
		if err := c.create(i); err != nil {
			return err
		}
		return c.awaitAnswer(i)
	})
}

// freezeTries is how often the engine is asked to pause a master: it gives up
// itself, and lets the processes go on, where a busy machine has not stopped all
// of them soon.
const freezeTries = 5

// Pause stops all processes of masters.
func (c *Cluster) Pause(which ...int) error {
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

// Unpause lets them go on.
func (c *Cluster) Unpause(which ...int) error {
	return atOnce(which, func(i int) error { return c.engine.pool.Client.UnpauseContainer(c.ids[i]) })
}

// Cut takes masters off the network: what is sent to them gets lost, both ways,
// while they go on.
func (c *Cluster) Cut(which ...int) error {
	return atOnce(which, func(i int) error {
		return c.engine.pool.Client.DisconnectNetwork(c.network.Network.ID, docker.NetworkConnectionOptions{Container: c.ids[i], Force: true})
	})
}

// Rejoin puts them back, at the addresses that they had.
func (c *Cluster) Rejoin(which ...int) error {
	return atOnce(which, func(i int) error {
		err := c.engine.pool.Client.ConnectNetwork(c.network.Network.ID, docker.NetworkConnectionOptions{Container: c.ids[i], EndpointConfig: c.endpoint(i)})
		if err != nil {
			return err
		}
		return c.awaitAnswer(i)
	})
}

// CanDrop is nil where CutReplies and HalfOpen work: beside the engine, as root, with
// nsenter and iptables.
func (c *Cluster) CanDrop() error {
	return c.iptables(0, "-n", "-L", "OUTPUT")
}

// CutReplies drops the packets that masters send: what is sent to them arrives,
// on connections that there are already, and nothing comes back.
func (c *Cluster) CutReplies(which ...int) error { return c.dropReplies("-I", which) }

// HealReplies ends CutReplies.
func (c *Cluster) HealReplies(which ...int) error { return c.dropReplies("-D", which) }

func (c *Cluster) dropReplies(verb string, which []int) error {
	return atOnce(which, func(i int) error {
		return c.iptables(i, verb, "OUTPUT", "-p", "tcp", "--sport", "6379", "-j", "DROP")
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

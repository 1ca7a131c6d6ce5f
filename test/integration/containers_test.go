package integration

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/ory/dockertest/v3"
	"github.com/ory/dockertest/v3/docker"
)

// containers are masters in containers, on a private network of their own, each
// at an address of its own that it keeps over a restart. They are reached there
// directly: a published port would answer for a container that is cut off, and
// change when it starts again.
type containers struct {
	masters
	*engine
	network   *dockertest.Network
	ids       []string
	addresses []string

	mu   sync.Mutex // guards away
	away []bool     // killed, paused or cut off
}

// startContainers starts n masters in containers for a test, or skips it. When
// it is over they are removed, whatever became of it.
func startContainers(t *testing.T, n int) *containers {
	t.Helper()
	c := &containers{engine: needEngine(t), ids: make([]string, n), away: make([]bool, n)}
	c.masters = masters{t: t, command: c.ask, answers: func(i int) bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return !c.away[i]
	}}
	t.Cleanup(c.remove)
	subnet := c.createNetwork()
	for i := range n {
		c.addresses = append(c.addresses, fmt.Sprintf("%s.%d", subnet, 11+i))
		c.urls = append(c.urls, fmt.Sprintf("redis://%s:6379", c.addresses[i]))
	}
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = c.create(i) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		c.awaitAnswer(i)
	}
	t.Cleanup(func() { // runs first, while the containers are there
		wantNoGoroutines(t)
		c.wantNoKeys()
	})
	return c
}

// remove runs last.
func (c *containers) remove() {
	if err := removeContainers(c.pool.Client, ours); err != nil {
		c.t.Errorf("containers are left behind: %v", err)
	}
	if n, err := litter(c.pool.Client); err != nil || n != 0 {
		c.t.Errorf("%d containers and networks are left behind (%v)", n, err)
	}
	c.pool.Client.HTTPClient.CloseIdleConnections()
}

// createNetwork makes a network in a subnet that nobody uses, and returns the
// first three numbers of its addresses: addresses can be chosen only where the
// subnet was.
func (c *containers) createNetwork() (subnet string) {
	c.t.Helper()
	first := rand.IntN(256)
	for n := range 256 {
		subnet = fmt.Sprintf("10.231.%d", (first+n)%256)
		network, err := c.pool.CreateNetwork("redquorum-"+thisRun, func(o *docker.CreateNetworkOptions) {
			o.Driver = "bridge"
			o.Labels = map[string]string{runLabel: thisRun}
			o.IPAM = &docker.IPAMOptions{Driver: "default", Config: []docker.IPAMConfig{{Subnet: subnet + ".0/24"}}}
		})
		if err == nil {
			c.network = network
			return subnet
		}
		if !strings.Contains(err.Error(), "overlaps") {
			c.t.Fatalf("a network for the containers: %v", err)
		}
	}
	c.t.Fatal("no subnet of 10.231.0.0/16 is free for a network of containers")
	return ""
}

// create makes and starts a container. It goes past dockertest's RunWithOptions,
// which chooses no address and has containers stopped by SIGWINCH, which Redis
// does not heed.
func (c *containers) create(i int) error {
	name := c.network.Network.Name
	made, err := c.pool.Client.CreateContainer(docker.CreateContainerOptions{
		Name: fmt.Sprintf("%s-%d", name, i),
		Config: &docker.Config{
			Image:      c.image,
			Entrypoint: []string{"redis-server"},
			Cmd:        []string{"--save", "", "--protected-mode", "no", "--maxmemory-policy", "noeviction"},
			Labels:     map[string]string{runLabel: thisRun},
			StopSignal: "SIGTERM",
		},
		HostConfig: &docker.HostConfig{NetworkMode: name},
		NetworkingConfig: &docker.NetworkingConfig{
			EndpointsConfig: map[string]*docker.EndpointConfig{name: c.endpoint(i)},
		},
	})
	if err != nil {
		return fmt.Errorf("container %d: %w", i, err)
	}
	c.ids[i] = made.ID
	if err := c.pool.Client.StartContainer(made.ID, nil); err != nil {
		return fmt.Errorf("container %d: %w", i, err)
	}
	return nil
}

func (c *containers) endpoint(i int) *docker.EndpointConfig {
	return &docker.EndpointConfig{IPAMConfig: &docker.EndpointIPAMConfig{IPv4Address: c.addresses[i]}}
}

// ask sends one command on a connection of its own.
func (c *containers) ask(i int, cmd string, args ...any) (any, error) {
	const bound = 3 * time.Second
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	conn, err := redis.DialContext(ctx, "tcp", c.addresses[i]+":6379",
		redis.DialReadTimeout(bound), redis.DialWriteTimeout(bound))
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	return conn.Do(cmd, args...)
}

func (c *containers) awaitAnswer(i int) {
	c.t.Helper()
	var err error
	for deadline := time.Now().Add(2 * settleBound); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if _, err = c.ask(i, "PING"); err == nil {
			return
		}
	}
	c.t.Fatalf("container %d does not answer at %s: %v", i, c.addresses[i], err)
}

// atOnce does something to several containers at the same time, and marks them
// as away or not.
func (c *containers) atOnce(what string, away bool, which []int, f func(i int) error) {
	c.t.Helper()
	var wg sync.WaitGroup
	errs := make([]error, len(which))
	for n, i := range which {
		wg.Go(func() { errs[n] = f(i) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		c.t.Fatalf("%s %v: %v", what, which, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, i := range which {
		c.away[i] = away
	}
}

// kill ends masters with SIGKILL and waits until they are gone.
func (c *containers) kill(which ...int) {
	c.t.Helper()
	c.atOnce("kill", true, which, func(i int) error {
		if err := c.pool.Client.KillContainer(docker.KillContainerOptions{ID: c.ids[i], Signal: docker.SIGKILL}); err != nil {
			return err
		}
		for deadline := time.Now().Add(settleBound); ; time.Sleep(5 * time.Millisecond) {
			state, err := c.pool.Client.InspectContainer(c.ids[i])
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

// start starts masters that were killed; they are empty.
func (c *containers) start(which ...int) {
	c.t.Helper()
	c.atOnce("start", false, which, func(i int) error { return c.pool.Client.StartContainer(c.ids[i], nil) })
	for _, i := range which {
		c.awaitAnswer(i)
	}
}

func (c *containers) pause(which ...int) {
	c.t.Helper()
	c.atOnce("pause", true, which, func(i int) error { return c.pool.Client.PauseContainer(c.ids[i]) })
}

func (c *containers) unpause(which ...int) {
	c.t.Helper()
	c.atOnce("unpause", false, which, func(i int) error { return c.pool.Client.UnpauseContainer(c.ids[i]) })
}

// cut takes masters off the network: what is sent to them gets lost, both ways,
// while they go on.
func (c *containers) cut(which ...int) {
	c.t.Helper()
	c.atOnce("cut off", true, which, func(i int) error {
		return c.pool.Client.DisconnectNetwork(c.network.Network.ID, docker.NetworkConnectionOptions{Container: c.ids[i], Force: true})
	})
}

// rejoin puts masters back, at the addresses that they had.
func (c *containers) rejoin(which ...int) {
	c.t.Helper()
	c.atOnce("rejoin", false, which, func(i int) error {
		return c.pool.Client.ConnectNetwork(c.network.Network.ID, docker.NetworkConnectionOptions{Container: c.ids[i], EndpointConfig: c.endpoint(i)})
	})
	for _, i := range which {
		c.awaitAnswer(i)
	}
}

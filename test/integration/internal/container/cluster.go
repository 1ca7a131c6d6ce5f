package container

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"

	"github.com/ory/dockertest/v3"
	"github.com/ory/dockertest/v3/docker"
)

// A Cluster is a number of masters in containers on a private network, each at an address that it
// keeps over a restart. They are reached there directly: a published port would answer for a
// container that is cut off, and change when it starts again. Its methods may be called
// concurrently for different masters.
type Cluster struct {
	engine    *Engine
	network   *dockertest.Network
	ids       []string
	addresses []string
}

// Start starts n masters that know nothing of each other, and waits until all
// answer. After an error nothing is left; else Close the cluster.
func (e *Engine) Start(n int) (*Cluster, error) {
	c := &Cluster{engine: e, ids: make([]string, n)}
	err := c.start(n)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *Cluster) start(n int) error {
	subnet, err := c.createNetwork()
	if err != nil {
		return err
	}
	which := make([]int, n)
	for i := range n {
		which[i] = i
		c.addresses = append(c.addresses, fmt.Sprintf("%s.%d", subnet, 11+i))
	}
	if err := atOnce(which, c.create); err != nil {
		return err
	}
	return atOnce(which, c.awaitAnswer)
}

// Close removes the containers and the network, and fails if any of this run is left. It takes at
// most settleBound.
func (c *Cluster) Close() error {
	defer c.engine.pool.Client.HTTPClient.CloseIdleConnections()
	return c.engine.remove(func(name, run string) bool {
		return run == thisRun && c.network != nil && strings.HasPrefix(name, c.network.Network.Name)
	})
}

// Address is a master's host and port.
func (c *Cluster) Address(i int) string { return c.addresses[i] + ":6379" }

// URLs returns the URLs of all masters.
func (c *Cluster) URLs() []string {
	urls := make([]string, len(c.addresses))
	for i := range urls {
		urls[i] = "redis://" + c.Address(i)
	}
	return urls
}

// createNetwork makes a network in a subnet that nobody uses, and returns the first three numbers
// of its addresses. Docker lets callers choose addresses only if they have chosen the subnet.
func (c *Cluster) createNetwork() (subnet string, err error) {
	first := rand.IntN(256)
	for n := range 256 {
		subnet = fmt.Sprintf("10.231.%d", (first+n)%256)
		name := fmt.Sprintf("redquorum-%s-%d-", thisRun, (first+n)%256)
		network, err := c.engine.pool.CreateNetwork(name, func(o *docker.CreateNetworkOptions) {
			o.Driver = "bridge"
			o.Labels = map[string]string{runLabel: thisRun}
			o.IPAM = &docker.IPAMOptions{Driver: "default", Config: []docker.IPAMConfig{{Subnet: subnet + ".0/24"}}}
		})
		if err == nil {
			c.network = network
			return subnet, nil
		}
		if !strings.Contains(err.Error(), "overlaps") {
			return "", fmt.Errorf("a network for the containers: %w", err)
		}
	}
	return "", errors.New("no subnet of 10.231.0.0/16 is free for a network of containers")
}

// create makes and starts a container. It does not use dockertest's RunWithOptions, which chooses
// no address, and stops containers with SIGWINCH, which Redis ignores.
func (c *Cluster) create(i int) error {
	name, client := c.network.Network.Name, c.engine.pool.Client
	made, err := client.CreateContainer(docker.CreateContainerOptions{
		Name: fmt.Sprintf("%s%d", name, i),
		Config: &docker.Config{
			Image:      c.engine.Image,
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
	if err := client.StartContainer(made.ID, nil); err != nil {
		return fmt.Errorf("container %d: %w", i, err)
	}
	return nil
}

func (c *Cluster) endpoint(i int) *docker.EndpointConfig {
	return &docker.EndpointConfig{IPAMConfig: &docker.EndpointIPAMConfig{IPv4Address: c.addresses[i]}}
}

// atOnce calls f with several masters at the same time.
func atOnce(which []int, f func(i int) error) error {
	errs := make([]error, len(which))
	var wg sync.WaitGroup
	for n, i := range which {
		wg.Go(func() { errs[n] = f(i) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

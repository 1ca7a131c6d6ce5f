package container

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/rs/xid"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/demo"
	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/witness"
)

const (
	redisPort   = "6379"
	answerBound = 10 * time.Second // a start, until the first answer
	askBound    = time.Second      // one question, dialing included
	askEvery    = 10 * time.Millisecond
)

// A Cluster is masters in containers, each at an address that it keeps. It is a
// demo.Breaker; its methods are called one at a time, but for Close and those
// for different masters.
type Cluster struct {
	engine  *Engine
	run     string // names all that belongs to it: this process and a name of its own
	version string
	masters []*master
	guard   *witness.Witness // nil: there is none
	closing sync.Once
	closed  error
}

// A master is one of them.
type master struct {
	name    string
	ip      string // on the private network
	port    string // of the loopback interface, where it is published; else ""
	address string // at which it is reached
	cut     bool   // off the network
}

// Start starts n masters that know nothing of each other, with every write on
// disk before it is answered, and waits until all answer. ctx bounds the start,
// which takes at most a minute. After an error nothing is left; else the caller
// must Close the cluster. Should this process end without, another one does so,
// which is this program with the arguments of sweeper and the name of the run;
// they must call Sweep.
func (e *Engine) Start(ctx context.Context, n int, sweeper ...string) (demo.Breaker, error) {
	c := &Cluster{engine: e, run: strconv.Itoa(os.Getpid()) + "-" + xid.New().String()}
	c.guard, _ = witness.Start(nil, nil, append(sweeper, c.run)...) // without one there is less safety
	if err := c.start(ctx, n); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	if e.direct {
		return &onNetwork{c}, nil
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context, n int) error {
	ips, err := c.engine.createNetwork(ctx, c.network(), label(c.run), n)
	if err != nil {
		return err
	}
	ports := make([]string, n)
	if !c.engine.direct {
		if ports, err = freePorts(n); err != nil {
			return err
		}
	}
	for i, ip := range ips {
		m := &master{name: c.network() + "-" + strconv.Itoa(i+1), ip: ip.String(), port: ports[i]}
		m.address = net.JoinHostPort(m.ip, redisPort)
		if m.port != "" {
			m.address = net.JoinHostPort("127.0.0.1", m.port)
		}
		c.masters = append(c.masters, m)
	}
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i, m := range c.masters {
		wg.Go(func() { errs[i] = c.launch(ctx, m) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return first(errs)
	}
	c.version, err = c.askVersion(c.masters[0])
	return err
}

// first is the first error: five masters that fail do so for one reason.
func first(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// network is the name of the network, and the beginning of those of the
// containers.
func (c *Cluster) network() string { return "redlock-demo-" + c.run }

// launch makes a master's container and starts it.
func (c *Cluster) launch(ctx context.Context, m *master) error {
	args := []string{
		"create", "--name", m.name, "--label", label(c.run), "--network", c.network(), "--ip", m.ip,
		"--stop-signal", "SIGTERM", "--restart", "no", "--entrypoint", "redis-server",
	}
	if m.port != "" {
		args = append(args, "--publish", net.JoinHostPort("127.0.0.1", m.port)+":"+redisPort)
	}
	args = append(args, c.engine.image,
		"--appendonly", "yes", "--appendfsync", "always", "--save", "", "--maxmemory-policy", "noeviction",
		"--protected-mode", "no") // only this machine reaches the network
	if _, err := c.engine.run(ctx, commandBound, args...); err != nil {
		return fmt.Errorf("a container of %s: %w", c.engine.image, err)
	}
	if m.cut { // it was, before it was made anew
		if err := c.disconnect(ctx, m); err != nil {
			return err
		}
	}
	return c.startContainer(ctx, m)
}

// startContainer starts a master that is down and waits until it answers, unless
// nobody can reach it.
func (c *Cluster) startContainer(ctx context.Context, m *master) error {
	if _, err := c.engine.run(ctx, commandBound, "start", m.name); err != nil {
		return fmt.Errorf("starting %s: %w", m.name, err)
	}
	if m.cut {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, answerBound)
	defer cancel()
	t := time.NewTicker(askEvery)
	defer t.Stop()
	for {
		_, err := ask(ctx, m.address, "PING")
		if err == nil {
			return nil
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return fmt.Errorf("the container %s does not answer at %s: %w; docker logs %[1]s tells of it while it is there", m.name, m.address, err)
		}
	}
}

// ask sends one command to a master on a connection of its own.
func ask(ctx context.Context, address, cmd string, args ...any) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, askBound)
	defer cancel()
	conn, err := redis.DialContext(ctx, "tcp", address, redis.DialReadTimeout(askBound), redis.DialWriteTimeout(askBound))
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	return conn.Do(cmd, args...)
}

// Kind is demo.KindContainers.
func (c *Cluster) Kind() demo.Kind { return demo.KindContainers }

// Version is that of the redis-server in the image.
func (c *Cluster) Version() string { return c.version }

// URLs are those of all masters.
func (c *Cluster) URLs() []string {
	urls := make([]string, len(c.masters))
	for i, m := range c.masters {
		urls[i] = "redis://" + m.address
	}
	return urls
}

// Close removes the containers and the network. It takes at most 10 s.
func (c *Cluster) Close() error {
	c.closing.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), sweepBound)
		defer cancel()
		if c.closed = c.engine.sweep(ctx, c.run); c.closed == nil && c.guard != nil {
			c.guard.Dismiss() // else it tries again when this process has ended
		}
	})
	return c.closed
}

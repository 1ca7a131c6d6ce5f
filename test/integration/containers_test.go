package integration

import (
	"fmt"
	"sync"
	"testing"

	"github.com/redquorum/redquorum/test/integration/internal/container"
)

// containers are masters in containers, each at an address of its own.
type containers struct {
	masters
	cluster *container.Cluster

	mu   sync.Mutex // guards away
	away []bool     // killed, paused or cut off
}

// startContainers starts n masters in containers for a test, or skips it. When
// it is over they are removed, whatever became of it.
func startContainers(t *testing.T, n int) *containers {
	t.Helper()
	engine := needEngine(t)
	cluster, err := engine.Start(n)
	if err != nil {
		t.Fatal(err)
	}
	c := &containers{cluster: cluster, away: make([]bool, n)}
	c.masters = masters{t: t, urls: cluster.URLs(), command: cluster.Do, answers: func(i int) bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return !c.away[i]
	}}
	t.Cleanup(func() { // runs last
		if err := cluster.Close(); err != nil {
			t.Errorf("containers are left behind: %v", err)
		}
		if n, err := engine.Litter(); err != nil || n != 0 {
			t.Errorf("%d containers and networks are left behind (%v)", n, err)
		}
	})
	t.Cleanup(func() { // runs first, while the containers are there
		wantNoGoroutines(t)
		c.wantNoKeys()
	})
	return c
}

// needEngine returns the engine, or skips the test and says why.
func needEngine(t *testing.T) *container.Engine {
	t.Helper()
	e, err := container.Find()
	if err != nil {
		closing.aboutContainers(fmt.Sprintf("did not run: %v", err))
		t.Skipf("needs containers: %v", err)
	}
	closing.aboutContainers("ran with image " + e.Image)
	return e
}

// now marks masters as away or not, once something has been done to them.
func (c *containers) now(away bool, which []int, err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, i := range which {
		c.away[i] = away
	}
}

func (c *containers) kill(which ...int) {
	c.t.Helper()
	c.now(true, which, c.cluster.Kill(which...))
}

// start starts masters that were killed; they are empty.
func (c *containers) start(which ...int) {
	c.t.Helper()
	c.now(false, which, c.cluster.Restart(which...))
}

func (c *containers) pause(which ...int) {
	c.t.Helper()
	c.now(true, which, c.cluster.Pause(which...))
}

func (c *containers) unpause(which ...int) {
	c.t.Helper()
	c.now(false, which, c.cluster.Unpause(which...))
}

func (c *containers) cut(which ...int) {
	c.t.Helper()
	c.now(true, which, c.cluster.Cut(which...))
}

func (c *containers) rejoin(which ...int) {
	c.t.Helper()
	c.now(false, which, c.cluster.Rejoin(which...))
}

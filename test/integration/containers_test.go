package integration

import (
	"fmt"
	"testing"

	"github.com/redquorum/redquorum/test/integration/internal/container"
)

// containers are masters in containers, each at an address of its own.
type containers struct {
	masters
	cluster *container.Cluster
	away    []bool // killed, paused or cut off
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
	c.masters = masters{t: t, urls: cluster.URLs(), command: cluster.Do, answers: func(i int) bool { return !c.away[i] }}
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
		aboutContainers(fmt.Sprintf("did not run: %v", err))
		t.Skipf("needs containers: %v", err)
	}
	aboutContainers("ran with image " + e.Image)
	return e
}

// now does something to masters, and marks them as away or not.
func (c *containers) now(away bool, which []int, do func(c *container.Cluster, which ...int) error) {
	c.t.Helper()
	if err := do(c.cluster, which...); err != nil {
		c.t.Fatal(err)
	}
	for _, i := range which {
		c.away[i] = away
	}
}

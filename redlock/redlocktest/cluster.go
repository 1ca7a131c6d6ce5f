package redlocktest

import (
	"fmt"
	"testing"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/simmaster"
	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

// Start starts n masters, 1 to 1000, and returns their URLs, as redlock.Open
// takes them: redis://127.0.0.1:port. They are stopped when the test and its
// subtests are over. Use 3 or 5: an even number tolerates no more failures than
// the odd one below it. When they cannot be started, or n is out of range, the
// test ends at once (tb.Fatalf).
func Start(tb testing.TB, n int) []string {
	tb.Helper()
	return StartCluster(tb, n).URLs()
}

// Run starts n masters, 1 to 1000, where there is no testing.TB: in TestMain, in an
// Example function, or in a program that shows something. It returns their URLs, as
// redlock.Open takes them, and a function that stops the masters and waits for them;
// close the clients first. The error says why the masters cannot be started, or that
// n is out of range; then there is nothing to stop.
func Run(n int) (urls []string, stop func(), err error) {
	c, err := simmaster.StartCluster(n)
	if err != nil {
		return nil, nil, fmt.Errorf("redlocktest: starting %d masters: %w", n, err)
	}
	return c.URLs(), c.Close, nil
}

// Cluster is a number of masters, numbered from 0 in the order of URLs. Its methods return when the
// fault has taken effect, and are safe for concurrent use. A number that no master has ends the
// test at once (tb.Fatalf), which is possible only from the test's own goroutine.
type Cluster struct {
	tb      testing.TB
	masters []*simmaster.Master
	opts    []redlock.Option // that reach them, where their URLs do not
}

// StartCluster is Start for tests that make masters fail.
func StartCluster(tb testing.TB, n int) *Cluster {
	tb.Helper()
	return start(tb, n, simmaster.StartCluster)
}

// StartInBubble is StartCluster for a test in a testing/synctest bubble: call it inside, with the
// bubble's own testing.T. The masters open no socket, and time is virtual for them and their
// clients. Only Open can reach them.
func StartInBubble(t testing.TB, n int) *Cluster {
	t.Helper()
	var opts []redlock.Option
	c := start(t, n, func(n int) (*simmaster.Cluster, error) {
		c, err := simmaster.StartMemoryCluster(n)
		if err == nil {
			opts = []redlock.Option{redlock.WithPool(pool.WithDialer(c.Dialer())), redlock.WithClock(drift.Runtime())}
		}
		return c, err
	})
	c.opts = opts
	return c
}

func start(tb testing.TB, n int, start func(n int) (*simmaster.Cluster, error)) *Cluster {
	tb.Helper()
	c, err := start(n)
	if err != nil {
		tb.Fatalf("redlocktest: starting %d masters: %v", n, err)
	}
	tb.Cleanup(c.Close)
	return &Cluster{tb: tb, masters: c.Masters()}
}

// Open makes a client of the masters, of either kind of cluster, as redlock.Open does. It is closed
// when the test is over, if not before. In a bubble it follows virtual time.
func (c *Cluster) Open(opts ...redlock.Option) (*redlock.Client, error) {
	client, err := redlock.Open(c.URLs(), append(c.opts[:len(c.opts):len(c.opts)], opts...)...)
	if err != nil {
		return nil, err
	}
	c.tb.Cleanup(func() { _ = client.Close() })
	return client, nil
}

// URLs returns the masters' URLs, which they keep through restarts. The slice
// is the caller's.
func (c *Cluster) URLs() []string {
	urls := make([]string, len(c.masters))
	for i, m := range c.masters {
		urls[i] = m.URL()
	}
	return urls
}

// Kill ends master i as kill -9 does: its connections are reset, and new ones are refused. Killing
// a killed master does nothing.
func (c *Cluster) Kill(i int) {
	c.tb.Helper()
	c.master("Kill", i).Kill()
}

// Restart starts master i again, at its URL, without its data and with a new identity; it kills a
// running or frozen one first. Clients do not count the master for their longest TTL
// (redlock.WithMaxTTL), unless WithGuard(redlock.GuardOff). It ends the test at once if another
// process has taken the port and keeps it for 2 s.
func (c *Cluster) Restart(i int) {
	c.tb.Helper()
	if err := c.master("Restart", i).Restart(false); err != nil {
		c.tb.Fatalf("redlocktest: restarting master %d: %v", i, err)
	}
}

// Freeze stops master i as kill -STOP does: it accepts connections and bytes but executes and
// answers nothing. Freezing a frozen or killed master does nothing.
func (c *Cluster) Freeze(i int) {
	c.tb.Helper()
	c.master("Freeze", i).Freeze()
}

// Thaw undoes Freeze, as kill -CONT does: the master now executes what waited, in order, also for
// clients that have given up. Without a Freeze it does nothing.
func (c *Cluster) Thaw(i int) {
	c.tb.Helper()
	c.master("Thaw", i).Thaw()
}

func (c *Cluster) master(op string, i int) *simmaster.Master {
	c.tb.Helper()
	if i < 0 || i >= len(c.masters) {
		c.tb.Fatalf("redlocktest: %s(%d): want a master from 0 to %d", op, i, len(c.masters)-1)
	}
	return c.masters[i]
}

// Package masters has embedded Redis masters for tests, and the commands and faults that tests send
// them without the library. Only tests import it.
package masters

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/simmaster"
)

// A Bubble is embedded masters in a bubble of virtual time, reached through memory. Time
// passes only while nothing else can happen. The bubble itself is the leak check: it fails
// if a goroutine is left.
type Bubble struct {
	*simmaster.Cluster
	T     *testing.T
	All   []*simmaster.Master
	atEnd []func()
}

// InBubble runs a test with n masters, 1 to 1000, in virtual time.
func InBubble(t *testing.T, n int, test func(t *testing.T, b *Bubble)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		cluster, err := simmaster.StartMemoryCluster(n)
		if err != nil {
			t.Fatal(err)
		}
		defer cluster.Close()
		b := &Bubble{Cluster: cluster, T: t, All: cluster.Masters()}
		defer func() {
			for _, f := range slices.Backward(b.atEnd) {
				f()
			}
		}()
		test(t, b)
	})
}

// AtEnd registers f to be called when the test has returned and the masters still run, the last f
// first. Unlike with t.Cleanup, the test's context still lives then.
func (b *Bubble) AtEnd(f func()) { b.atEnd = append(b.atEnd, f) }

// Pipelines returns connections to the masters, which are closed at the end. change, unless it is
// nil, is called with the number and the configuration of each.
func (b *Bubble) Pipelines(change func(i int, c *pipeline.Config)) (all []*pipeline.Pipeline) {
	for i, m := range b.All {
		c := pipeline.Config{Name: m.Name(), Network: "tcp", Addr: m.Addr(), Dialer: b.Dialer()}
		if change != nil {
			change(i, &c)
		}
		p := pipeline.New(c)
		b.AtEnd(p.Close)
		all = append(all, p)
	}
	return all
}

// Kill kills masters, and returns when their clients know.
func (b *Bubble) Kill(which ...int) {
	for _, i := range which {
		b.All[i].Kill()
	}
	synctest.Wait()
}

// Freeze freezes masters.
func (b *Bubble) Freeze(which ...int) {
	for _, i := range which {
		b.All[i].Freeze()
	}
}

// Thaw thaws masters, and waits for all that follows at once.
func (b *Bubble) Thaw(which ...int) {
	for _, i := range which {
		b.All[i].Thaw()
	}
	synctest.Wait()
}

// Restart restarts masters, running or killed, with their data or without.
func (b *Bubble) Restart(keep bool, which ...int) {
	b.T.Helper()
	for _, i := range which {
		if err := b.All[i].Restart(keep); err != nil {
			b.T.Fatal(err)
		}
	}
}

// Command sends a command to a master on a connection of its own, as another client would.
func (b *Bubble) Command(i int, name string, args ...any) (any, error) {
	conn, err := b.All[i].Dial(context.Background())
	if err != nil {
		return nil, err
	}
	rc := redis.NewConn(conn, 0, 0)
	defer func() { _ = rc.Close() }()
	return rc.Do(name, args...)
}

// Ask is Command that must succeed.
func (b *Bubble) Ask(i int, command string, args ...any) any {
	b.T.Helper()
	reply, err := b.Command(i, command, args...)
	if err != nil {
		b.T.Fatalf("master %d: %s: %v", i, command, err)
	}
	return reply
}

// On counts the masters that have a key, frozen ones too, once nothing is under way.
func (b *Bubble) On(key string) (n int) {
	synctest.Wait()
	for _, m := range b.All {
		if _, ok := m.Get(key); ok {
			n++
		}
	}
	return n
}

package bench

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/redistest"
)

const testBound = 30 * time.Second

// openWorker opens a library for a test, connected to all masters.
func openWorker(t *testing.T, open func([]string) (peer, error), c *redistest.Cluster, key string) worker {
	t.Helper()
	p, err := open(c.URLs())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.close(); err != nil {
			t.Error(err)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), testBound)
	defer cancel()
	if err := p.connect(ctx, 1); err != nil {
		t.Fatal(err)
	}
	return p.worker(key)
}

// holders counts the masters where the key has the value.
func holders(c *redistest.Cluster, key, value string) (int, error) {
	n := 0
	for _, m := range c.Masters {
		switch got, err := redis.String(m.Do("GET", key)); {
		case err == nil && got == value:
			n++
		case err != nil && !errors.Is(err, redis.ErrNil):
			return 0, err
		}
	}
	return n, nil
}

const sameWork = 200 // pairs

// worked is masters on which a library has locked and unlocked so often.
func worked(t *testing.T, lib library) *redistest.Cluster {
	t.Helper()
	c := redistest.Start(t, masterCount, redistest.Config{})
	w := openWorker(t, lib.open, c, "same-work")
	for range sameWork {
		if err := pair(w); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// TestEveryPairReachesEveryMaster makes sure that all libraries do the same work. A
// pair is a SET and a DEL on all masters, also on those that a quorum does not need.
// The releasing script runs the DEL where it finds its token.
func TestEveryPairReachesEveryMaster(t *testing.T) {
	for _, lib := range append(slices.Clone(libraries), redsyncGoRedis, pipelined) {
		t.Run(lib.name, func(t *testing.T) {
			for _, m := range worked(t, lib).Masters {
				awaitPairs(t, m, sameWork)
			}
		})
	}
}

// TestFailFastReachesAQuorum says what can be said of redsync's fail-fast: what
// it does not wait for may come late, or not at all where it would take a dial.
func TestFailFastReachesAQuorum(t *testing.T) {
	const quorum = masterCount/2 + 1
	c := worked(t, redsyncFailFast)
	for _, command := range []string{"set", "del"} {
		sum := 0
		for _, m := range c.Masters {
			sum += callsOf(t, m, command)
		}
		if sum < sameWork*quorum {
			t.Errorf("%s has run %d times on all masters together: want at least %d", command, sum, sameWork*quorum)
		}
	}
}

func TestRedislockUsesTheFirstMasterAlone(t *testing.T) {
	c := worked(t, singleMaster)
	awaitPairs(t, c.Masters[0], sameWork)
	for _, m := range c.Masters[1:] {
		awaitPairs(t, m, 0)
	}
}

// awaitPairs waits until a master has run SET and DEL that often: the last answers
// may be those that nobody waited for.
func awaitPairs(t *testing.T, m *redistest.Server, want int) {
	t.Helper()
	deadline := time.Now().Add(testBound)
	for {
		set, del := callsOf(t, m, "set"), callsOf(t, m, "del")
		tried := triedCommands(t, m)
		// A look tries SET in its script and by itself, and the digest of the list is set once.
		set, del = set-2*tried-exists(t, m, guard.ListKey), del-tried-declarations(t, m)
		if set == want && del == want {
			return
		}
		if set > want || del > want || time.Now().After(deadline) {
			t.Fatalf("%s has run SET %d and DEL %d times: want %d each", m.Addr(), set, del, want)
		}
	}
}

// declarations is how often a master was declared one of a new fleet, which deletes
// the note that it had no marker: once where it has one.
func declarations(t *testing.T, m *redistest.Server) int {
	t.Helper()
	return exists(t, m, guard.Key)
}

// exists is 1 where there is such a key, else 0.
func exists(t *testing.T, m *redistest.Server, key string) int {
	t.Helper()
	n, err := redis.Int(m.Do("EXISTS", key))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// triedCommands is how often the guard tried on a master whether it runs what locks need: each
// of these commands once, and ZADD is one that no pair of the same work needs.
func triedCommands(t *testing.T, m *redistest.Server) int {
	t.Helper()
	return callsOf(t, m, "zadd")
}

// callsOf is how often a command was run, by clients and by scripts. One that never was
// is missing.
func callsOf(t *testing.T, m *redistest.Server, command string) int {
	t.Helper()
	n, _ := infoNumber(t, m, "commandstats", "cmdstat_"+command+":calls=")
	return int(n)
}

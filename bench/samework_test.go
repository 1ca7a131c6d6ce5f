package bench

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/redistest"
)

const (
	testBound = 30 * time.Second
	sameWork  = 200 // pairs
)

// All libraries do the same work: a pair is a SET and a DEL on every master, also on the
// masters that a quorum does not need. The release script runs the DEL if it finds its token.
func TestEveryPairReachesEveryMaster(t *testing.T) {
	for _, lib := range append(slices.Clone(libraries), redsyncGoRedis, pipelined) {
		t.Run(lib.name, func(t *testing.T) {
			c := redistest.Start(t, masterCount, redistest.Config{})
			p, err := lib.open(c.URLs())
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := p.close(); err != nil {
					t.Error(err)
				}
			}()
			ctx, cancel := context.WithTimeout(t.Context(), testBound)
			defer cancel()
			if err := p.connect(ctx, 1); err != nil {
				t.Fatal(err)
			}
			w := p.worker("same-work")
			for range sameWork {
				if err := pair(w); err != nil {
					t.Fatal(err)
				}
			}
			for _, m := range c.Masters {
				awaitPairs(t, m, sameWork)
			}
		})
	}
}

// awaitPairs waits until a master has run SET and DEL want times. It waits because the last
// commands may be ones for whose answers no call waited.
func awaitPairs(t *testing.T, m *redistest.Server, want int) {
	t.Helper()
	deadline := time.Now().Add(testBound)
	for {
		set, del := callsOf(t, m, "set"), callsOf(t, m, "del")
		// The guard's look tries each command that locks need once; it tries SET twice, in its
		// script and alone. ZADD counts the looks, because no pair uses it. The digest of the
		// list is set once. Declaring a new fleet deletes the note that there was no marker.
		tried := callsOf(t, m, "zadd")
		set, del = set-2*tried-exists(t, m, guard.ListKey), del-tried-exists(t, m, guard.Key)
		if set == want && del == want {
			return
		}
		if set > want || del > want || time.Now().After(deadline) {
			t.Fatalf("%s has run SET %d and DEL %d times: want %d each", m.Addr(), set, del, want)
		}
	}
}

// exists is 1 if the master has the key, else 0.
func exists(t *testing.T, m *redistest.Server, key string) int {
	t.Helper()
	n, err := redis.Int(m.Do("EXISTS", key))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// callsOf is how often a command was run, by clients and by scripts. A command that never
// ran is not in the section.
func callsOf(t *testing.T, m *redistest.Server, command string) int {
	t.Helper()
	n, _ := infoNumber(t, m, "commandstats", "cmdstat_"+command+":calls=")
	return int(n)
}

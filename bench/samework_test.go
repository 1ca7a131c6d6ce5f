package bench

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/redistest"
)

// TestEveryPairReachesEveryMaster makes sure that all libraries do the same work. A
// pair is a SET and a DEL on all masters, also on those that a quorum does not need.
// The releasing script runs the DEL where it finds its token.
func TestEveryPairReachesEveryMaster(t *testing.T) {
	const pairs = 200
	for _, lib := range append(slices.Clone(libraries), redsyncGoRedis, pipelined) {
		t.Run(lib.name, func(t *testing.T) {
			c := redistest.Start(t, masterCount, redistest.Config{})
			w := openWorker(t, lib.open, c, "same-work")
			for range pairs {
				if err := pair(w); err != nil {
					t.Fatal(err)
				}
			}
			for _, m := range c.Masters {
				awaitCalls(t, m, "set", pairs)
				awaitCalls(t, m, "del", pairs)
			}
		})
	}
}

// TestFailFastReachesAQuorum says what can be said of redsync's fail-fast: what
// it does not wait for may come late, or not at all where it would take a dial.
func TestFailFastReachesAQuorum(t *testing.T) {
	const pairs, quorum = 200, masterCount/2 + 1
	c := redistest.Start(t, masterCount, redistest.Config{})
	w := openWorker(t, redsyncFailFast.open, c, "same-work")
	for range pairs {
		if err := pair(w); err != nil {
			t.Fatal(err)
		}
	}
	for _, command := range []string{"set", "del"} {
		sum := 0
		for _, m := range c.Masters {
			sum += callsOf(t, m, command)
		}
		if sum < pairs*quorum {
			t.Errorf("%s has run %d times on all masters together: want at least %d", command, sum, pairs*quorum)
		}
	}
}

func TestRedislockUsesTheFirstMasterAlone(t *testing.T) {
	const pairs = 200
	c := redistest.Start(t, masterCount, redistest.Config{})
	w := openWorker(t, singleMaster.open, c, "same-work")
	for range pairs {
		if err := pair(w); err != nil {
			t.Fatal(err)
		}
	}
	for i, m := range c.Masters {
		want := 0
		if i == 0 {
			want = pairs
		}
		awaitCalls(t, m, "set", want)
		awaitCalls(t, m, "del", want)
	}
}

// awaitCalls waits until a master has run a command that often: the last answers
// may be those that nobody waited for.
func awaitCalls(t *testing.T, m *redistest.Server, command string, want int) {
	t.Helper()
	deadline := time.Now().Add(testBound)
	for {
		got := callsOf(t, m, command)
		if command == "del" {
			got -= declarations(t, m)
		}
		if got == want {
			return
		}
		if got > want || time.Now().After(deadline) {
			t.Fatalf("%s has run %s %d times: want %d", m.Addr(), command, got, want)
		}
	}
}

// declarations is how often a master was declared one of a new fleet, which deletes
// the note that it had no marker: once where it has one.
func declarations(t *testing.T, m *redistest.Server) int {
	t.Helper()
	n, err := redis.Int(m.Do("EXISTS", guard.Key))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func callsOf(t *testing.T, m *redistest.Server, command string) int {
	t.Helper()
	info, err := redis.String(m.Do("INFO", "commandstats"))
	if err != nil {
		t.Fatal(err)
	}
	n, err := calls(info, command)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// calls reads from INFO commandstats how often a command was run, by clients and
// by scripts: "cmdstat_set:calls=2,usec=9,…". A command that never was is missing.
func calls(info, command string) (int, error) {
	_, after, ok := strings.Cut(info, "cmdstat_"+command+":calls=")
	if !ok {
		return 0, nil
	}
	number, _, _ := strings.Cut(after, ",")
	n, err := strconv.Atoi(number)
	if err != nil {
		return 0, fmt.Errorf("INFO commandstats: calls of %s: %w", command, err)
	}
	return n, nil
}

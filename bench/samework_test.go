package bench

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/redistest"
)

// TestEveryPairReachesEveryMaster makes sure that the libraries are measured at
// the same work: for every pair a SET and a DEL, which the releasing script runs
// where it finds its token, on all masters, also on those that a quorum does not
// need.
func TestEveryPairReachesEveryMaster(t *testing.T) {
	const pairs = 200
	for _, lib := range libraries {
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

// awaitCalls waits until a master has run a command that often: the last answers
// may be those that nobody waited for.
func awaitCalls(t *testing.T, m *redistest.Server, command string, want int) {
	t.Helper()
	deadline := time.Now().Add(testBound)
	for {
		info, err := redis.String(m.Do("INFO", "commandstats"))
		if err != nil {
			t.Fatal(err)
		}
		got, err := calls(info, command)
		if err != nil {
			t.Fatal(err)
		}
		if got == want {
			return
		}
		if got > want || time.Now().After(deadline) {
			t.Fatalf("%s has run %s %d times: want %d", m.Addr(), command, got, want)
		}
	}
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

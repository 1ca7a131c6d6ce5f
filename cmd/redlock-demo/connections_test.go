package main

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/cmd/internal/testutil"
	"github.com/redquorum/redquorum/internal/redistest"
)

var received = regexp.MustCompile(`total_connections_received:(\d+)`)

// connections returns how many connections a master has received, including this one.
func connections(t *testing.T, m *redistest.Server) int {
	t.Helper()
	text, err := redis.Bytes(m.Do("INFO", "stats"))
	found := received.FindSubmatch(text)
	if err != nil || found == nil {
		t.Fatalf("%v in %q", err, text)
	}
	n, _ := strconv.Atoi(string(found[1]))
	return n
}

// Masters may be short of connections when people look, so a command takes only one of each.
func TestCommandsThatLookTakeOneConnectionOfEachMaster(t *testing.T) {
	t.Parallel()
	c := servers(t, 3)
	mustLock(t, testutil.Opened(t, c), "k")
	for _, line := range []string{
		"status k l", "locks", "release --yes k", "init", "init --force --yes --max-ttl 2s", "doctor --for 100ms",
	} {
		var before [3]int
		for i, m := range c.Masters {
			before[i] = connections(t, m)
		}
		_, stderr, _ := output(t, nil, append(strings.Fields(line), "--masters", addresses(c))...)
		for i, m := range c.Masters {
			if n := connections(t, m) - before[i] - 1; n != 1 {
				t.Errorf("%s: %d connections of master %d, want 1: %s", line, n, i+1, stderr)
			}
		}
	}
}

func TestStatusThatWatchesKeepsItsConnection(t *testing.T) {
	t.Parallel()
	c := servers(t, 1)
	before := connections(t, c.Masters[0])
	r := startCommand(t, command(t, nil, "status", "--watch=100ms", "--masters", addresses(c), "k"))
	testutil.Eventually(t, "it looks several times", func() bool { return strings.Count(r.stdout.String(), "Can lock: YES.") >= 5 })
	if n := connections(t, c.Masters[0]) - before - 1; n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
	r.signal(t, os.Interrupt)
	r.end(t)
}

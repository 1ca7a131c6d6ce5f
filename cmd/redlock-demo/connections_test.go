package main

import (
	"bytes"
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/cmd/internal/testutil"
	"github.com/redquorum/redquorum/internal/redistest"
)

var received = regexp.MustCompile(`total_connections_received:(\d+)`)

// A connectionCount counts the connections that a master is given, without its own.
type connectionCount struct {
	conn   redis.Conn
	before int
}

func countConnections(t *testing.T, m *redistest.Server) *connectionCount {
	t.Helper()
	conn, err := m.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	c := &connectionCount{conn: conn}
	c.before = c.now(t)
	return c
}

// now is how many there were since the count began.
func (c *connectionCount) now(t *testing.T) int {
	t.Helper()
	text, err := redis.Bytes(c.conn.Do("INFO", "stats"))
	found := received.FindSubmatch(text)
	if err != nil || found == nil {
		t.Fatalf("%v in %q", err, text)
	}
	n, _ := strconv.Atoi(string(found[1]))
	return n - c.before
}

// Who asks at night, when masters are short of connections, takes one of each.
func TestCommandsThatLookTakeOneConnectionOfEachMaster(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		args []string
		most int
	}{
		"status":         {[]string{"status", "k", "l"}, 1},
		"locks":          {[]string{"locks"}, 1},
		"release":        {[]string{"release", "--yes", "k"}, 1},
		"init":           {[]string{"init"}, 1},
		"init, by force": {[]string{"init", "--force", "--yes", "--max-ttl", "2s"}, 1},
		"doctor":         {[]string{"doctor", "--for", "100ms"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, urls := processes(t, 3, redistest.Config{})
			initialize(t, urls)
			mustLock(t, testutil.Opened(t, c), "k")
			var counts []*connectionCount
			for _, m := range c.Masters {
				counts = append(counts, countConnections(t, m))
			}
			_, stderr, _ := output(t, nil, append(test.args, "--masters", urls)...)
			for i, count := range counts {
				if n := count.now(t); n < 1 || n > test.most {
					t.Errorf("master %d: %d connections, want %d at the most: %s", i+1, n, test.most, stderr)
				}
			}
		})
	}
}

func TestStatusThatWatchesKeepsItsConnection(t *testing.T) {
	t.Parallel()
	c, urls := processes(t, 1, redistest.Config{})
	initialize(t, urls)
	count := countConnections(t, c.Masters[0])
	r := startCommand(t, command(t, nil, "status", "--watch=100ms", "--masters", urls, "k"))
	testutil.Eventually(t, "it looks several times", func() bool { return bytes.Count([]byte(r.stdout.String()), []byte("Can lock: YES.")) >= 5 })
	if n := count.now(t); n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
	r.signal(t, os.Interrupt)
	r.end(t)
}

package redistest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/testutil"
)

// waitBound is how long the tests wait for what must happen.
const waitBound = 10 * time.Second

func TestMain(m *testing.M) {
	if os.Getenv(parentVariable) != "" {
		os.Exit(parentMain())
	}
	code := m.Run()
	if err := testutil.LeakCheck(waitBound, "redistest.startProcess"); err != nil {
		fmt.Fprintln(os.Stderr, "left behind by the tests:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// start starts one server, or skips the test.
func start(t *testing.T, cfg Config) *Server {
	t.Helper()
	return Start(t, 1, cfg).Masters[0]
}

// needRedis skips the test, or fails it, if no redis-server can be run, as Start does.
func needRedis(t *testing.T) {
	t.Helper()
	if err := Available(); err != nil {
		if os.Getenv(RequireVariable) == "1" {
			t.Fatal(err)
		}
		t.Skipf("needs real redis-server processes: %v", err)
	}
}

// alive reports whether the process runs; a zombie, which no one has reaped yet,
// does not.
func alive(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil || p.Signal(syscall.Signal(0)) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || !strings.Contains(string(stat), ") Z ")
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func do(t *testing.T, s *Server, cmd string, args ...any) any {
	t.Helper()
	reply, err := s.Do(cmd, args...)
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

// restart starts a server again, and makes sure that it answers.
func restart(t *testing.T, s *Server) {
	t.Helper()
	if err := s.Restart(background(t), true); err != nil {
		t.Fatal(err)
	}
	do(t, s, "PING")
}

// get returns the value of a key, "" if there is none.
func get(t *testing.T, s *Server, key string) string {
	t.Helper()
	value, err := redis.String(s.Do("GET", key))
	if err != nil && !errors.Is(err, redis.ErrNil) {
		t.Fatal(err)
	}
	return value
}

// background returns a context that has a bound.
func background(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 6*waitBound)
	t.Cleanup(cancel)
	return ctx
}

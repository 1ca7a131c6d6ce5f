package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/redquorum/redquorum/cmd/internal/testutil"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/internal/simmaster"
	"github.com/redquorum/redquorum/redlock"
)

// soon is a short TTL, but long enough to be renewed on a busy machine.
const soon = "4s"

// servers starts n redis-servers and declares them a fleet, so that no command has to wait for it.
func servers(t *testing.T, n int) *redistest.Cluster {
	t.Helper()
	c := redistest.Start(t, n, redistest.Config{})
	initialize(t, addresses(c))
	return c
}

// processes starts masters that are processes.
func processes(t *testing.T, n int, cfg redistest.Config) (c *redistest.Cluster, urls string) {
	t.Helper()
	c = redistest.Start(t, n, cfg)
	return c, addresses(c)
}

func addresses(c *redistest.Cluster) string { return strings.Join(c.URLs(), ",") }

// kill ends masters as a crash does.
func kill(t *testing.T, masters ...*redistest.Server) {
	t.Helper()
	for _, m := range masters {
		if err := m.Kill(); err != nil {
			t.Fatal(err)
		}
	}
}

// restart restarts masters that run or were killed.
func restart(t *testing.T, keepData bool, masters ...*redistest.Server) {
	t.Helper()
	for _, m := range masters {
		if err := m.Restart(t.Context(), keepData); err != nil {
			t.Fatal(err)
		}
	}
}

// do sends a command to some masters.
func do(t *testing.T, masters []*redistest.Server, command string, args ...any) {
	t.Helper()
	for _, m := range masters {
		if _, err := m.Do(command, args...); err != nil {
			t.Fatal(err)
		}
	}
}

// value returns the key's value on one master; "" if there is none.
func value(t *testing.T, s *redistest.Server, key string) string {
	t.Helper()
	reply, err := s.Do("GET", key)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := reply.([]byte)
	return string(text)
}

// holders counts the masters that have the key.
func holders(t *testing.T, c *redistest.Cluster, key string) int {
	t.Helper()
	n := 0
	for _, s := range c.Masters {
		if value(t, s, key) != "" {
			n++
		}
	}
	return n
}

// leftOn returns the keys on a master that are not the fleet's.
func leftOn(m *simmaster.Master) []string {
	return slices.DeleteFunc(m.Keys(), func(key string) bool { return key == guard.Key || key == guard.ListKey })
}

// free waits until no master has the key.
func free(t *testing.T, c *redistest.Cluster, key string) {
	t.Helper()
	testutil.Eventually(t, "the key is gone", func() bool { return holders(t, c, key) == 0 })
}

func mustLock(t *testing.T, client *redlock.Client, key string, opts ...redlock.LockOption) *redlock.Lock {
	t.Helper()
	l, err := client.Lock(t.Context(), key, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// document runs a command that prints one document and nothing else.
func document[T any](t *testing.T, env []string, args ...string) (d T, code int) {
	t.Helper()
	stdout, stderr, code := output(t, env, args...)
	if stderr != "" {
		t.Fatalf("exit code %d, %q\n%s", code, stderr, stdout)
	}
	return testutil.Parse[T](t, stdout), code
}

// initialize declares masters a fleet.
func initialize(t *testing.T, urls string) {
	t.Helper()
	if _, stderr, code := output(t, nil, "init", "--masters", urls); code != 0 {
		t.Fatal(stderr)
	}
}

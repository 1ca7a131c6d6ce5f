package simmaster

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/testutil"
)

// TestMain fails the run when tests outside of bubbles leave goroutines behind. A bubble checks
// this by itself.
func TestMain(m *testing.M) {
	os.Exit(testutil.RunClean(m.Run, 5*time.Second))
}

// start returns a master that is closed when the test, or its bubble, ends.
func start(t *testing.T) *Master {
	t.Helper()
	m, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

// listening is start and Listen.
func listening(t *testing.T) *Master {
	t.Helper()
	m := start(t)
	if err := m.Listen(); err != nil {
		t.Fatal(err)
	}
	return m
}

// dial returns an in-memory client.
func dial(t *testing.T, m *Master) redis.Conn {
	t.Helper()
	conn, err := m.Dial(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return client(t, redis.NewConn(conn, 0, 0))
}

// inBubble runs a test in virtual time, with a master and a client of it.
func inBubble(t *testing.T, test func(t *testing.T, m *Master, c redis.Conn)) {
	synctest.Test(t, func(t *testing.T) {
		m := start(t)
		test(t, m, dial(t, m))
	})
}

// dialTCP returns a client over TCP.
func dialTCP(t *testing.T, m *Master) redis.Conn {
	t.Helper()
	c, err := redis.Dial("tcp", m.Addr(), redis.DialConnectTimeout(10*time.Second), redis.DialReadTimeout(10*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	return client(t, c)
}

func client(t *testing.T, c redis.Conn) redis.Conn {
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// do executes a command, which must not fail, and returns its reply as text.
func do(t *testing.T, c redis.Conn, cmd string, args ...any) string {
	t.Helper()
	reply, err := c.Do(cmd, args...)
	if err != nil {
		t.Fatalf("%s %v: %v", cmd, args, err)
	}
	return text(reply)
}

// fails executes a command whose error must contain want.
func fails(t *testing.T, want string, c redis.Conn, cmd string, args ...any) {
	t.Helper()
	reply, err := c.Do(cmd, args...)
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Fatalf("%s %v: got %s, error %v; want an error with %q", cmd, args, text(reply), err, want)
	}
}

// send, flush and receive are the parts of a pipelined exchange.
func send(t *testing.T, c redis.Conn, cmd string, args ...any) {
	t.Helper()
	if err := c.Send(cmd, args...); err != nil {
		t.Fatal(err)
	}
}

func flush(t *testing.T, c redis.Conn) {
	t.Helper()
	if err := c.Flush(); err != nil {
		t.Fatal(err)
	}
}

func receive(t *testing.T, c redis.Conn) string {
	t.Helper()
	reply, err := c.Receive()
	if err != nil {
		t.Fatal(err)
	}
	return text(reply)
}

func text(reply any) string {
	switch r := reply.(type) {
	case nil:
		return "nil"
	case []byte:
		return string(r)
	case []any:
		parts := make([]string, len(r))
		for i, e := range r {
			parts[i] = text(e)
		}
		return "[" + strings.Join(parts, " ") + "]"
	default:
		return fmt.Sprint(r)
	}
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		t.Fatalf("%s: got %s, want %s", what, g, w)
	}
}

// field returns a field of INFO.
func field(t *testing.T, info, name string) string {
	t.Helper()
	for line := range strings.SplitSeq(info, "\r\n") {
		if v, ok := strings.CutPrefix(line, name+":"); ok {
			return v
		}
	}
	t.Fatalf("INFO has no %s:\n%s", name, info)
	return ""
}

func mustWrite(t *testing.T, c net.Conn, p string) {
	t.Helper()
	if n, err := c.Write([]byte(p)); err != nil || n != len(p) {
		t.Fatalf("Write: %d, %v", n, err)
	}
}

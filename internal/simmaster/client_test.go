package simmaster

import (
	"errors"
	"io"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/gomodule/redigo/redis"
)

func TestEveryConnectionHasAnIDOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := start(t)
		a, b := dial(t, m), dial(t, m)
		// The first command of b comes first: ids are those of the connections.
		equal(t, "b", do(t, b, "CLIENT", "ID"), 2)
		equal(t, "a", do(t, a, "CLIENT", "ID"), 1)
		equal(t, "a again", do(t, a, "CLIENT", "ID"), 1)
		_ = a.Close()
		equal(t, "c", do(t, dial(t, m), "CLIENT", "ID"), 3)
	})
}

func TestClientNamesAndHints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := start(t)
		c, other := dial(t, m), dial(t, m)
		equal(t, "no name", do(t, c, "CLIENT", "GETNAME"), "nil")
		equal(t, "SETNAME", do(t, c, "CLIENT", "SETNAME", "worker-1"), "OK")
		equal(t, "GETNAME", do(t, c, "client", "getname"), "worker-1")
		equal(t, "another connection", do(t, other, "CLIENT", "GETNAME"), "nil")
		fails(t, "cannot contain", c, "CLIENT", "SETNAME", "two words")
		equal(t, "SETINFO", do(t, c, "CLIENT", "SETINFO", "LIB-NAME", "redquorum"), "OK")
		equal(t, "SETINFO", do(t, c, "CLIENT", "SETINFO", "lib-ver", "1.0"), "OK")
		fails(t, "Unrecognized", c, "CLIENT", "SETINFO", "LIB-X", "1")
		equal(t, "NO-EVICT", do(t, c, "CLIENT", "NO-EVICT", "ON"), "OK")
		fails(t, "syntax", c, "CLIENT", "NO-EVICT", "maybe")
		fails(t, "unknown subcommand", c, "CLIENT", "LIST")
		fails(t, "wrong number", c, "CLIENT", "ID", "x")
		fails(t, "wrong number", c, "CLIENT")
	})
}

func TestClientKillClosesThatConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := start(t)
		killer, victim, bystander := dial(t, m), dial(t, m), dial(t, m)
		id := do(t, victim, "CLIENT", "ID")
		equal(t, "killed", do(t, killer, "CLIENT", "KILL", "ID", id), 1)
		if _, err := victim.Do("PING"); !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
			t.Fatalf("the victim's connection: %v", err)
		}
		equal(t, "killed again", do(t, killer, "CLIENT", "KILL", "ID", id), 0)
		equal(t, "nobody's id", do(t, killer, "CLIENT", "KILL", "ID", "99"), 0)
		equal(t, "the others", do(t, bystander, "PING"), "PONG")
		synctest.Wait()
		equal(t, "connections", m.Connections(), 2)

		for want, args := range map[string][]any{
			"greater than 0": {"KILL", "ID", "0"}, "syntax error": {"KILL", "ID"},
			"TYPE is not simulated": {"KILL", "TYPE", "normal"}, "without ID": {"KILL", "SKIPME", "no"},
		} {
			fails(t, want, killer, "CLIENT", args...)
		}
	})
}

func TestAClientThatKillsItselfGetsItsReplyFirst(t *testing.T) {
	inBubble(t, func(t *testing.T, _ *Master, c redis.Conn) {
		equal(t, "spared by default", do(t, c, "CLIENT", "KILL", "ID", "1"), 0)
		equal(t, "killed", do(t, c, "CLIENT", "KILL", "ID", "1", "SKIPME", "no"), 1)
		if _, err := c.Do("PING"); !errors.Is(err, io.EOF) && !errors.Is(err, syscall.EPIPE) {
			t.Fatalf("the connection: %v", err)
		}
	})
}

func TestNothingThatFollowsAQuitIsExecuted(t *testing.T) {
	inBubble(t, func(t *testing.T, m *Master, c redis.Conn) {
		send(t, c, "QUIT")
		for range 50 {
			send(t, c, "SET", "k", "v")
		}
		_ = c.Flush()
		reply, err := redis.String(c.Receive())
		if reply != "OK" || err != nil {
			t.Fatalf("QUIT: %q, %v", reply, err)
		}
		if reply, err := c.Receive(); !errors.Is(err, io.EOF) {
			t.Fatalf("after QUIT: %s, %v; want EOF", text(reply), err)
		}
		synctest.Wait()
		equal(t, "keys", m.Keys(), "[]")
		equal(t, "connections", m.Connections(), 0)
	})
}

package simmaster

import (
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"
)

func TestInfoTellsWhoTheMasterIs(t *testing.T) {
	inBubble(t, func(t *testing.T, m *Master, c redis.Conn) {
		time.Sleep(90 * time.Second)
		info := do(t, c, "INFO")
		for name, want := range map[string]string{
			"redis_version": "7.2.0", "redis_mode": "standalone", "redquorum_simulated": "1",
			"run_id": m.RunID(), "tcp_port": "0", "uptime_in_seconds": "90",
			"role": "master", "connected_slaves": "0", "maxmemory_policy": "noeviction",
			"loading": "0", "connected_clients": "1", "total_connections_received": "1", "total_commands_processed": "1",
		} {
			equal(t, name, field(t, info, name), want)
		}
		if !regexp.MustCompile(`^[0-9a-f]{40}$`).MatchString(m.RunID()) {
			t.Fatalf("run_id %q", m.RunID())
		}
		for _, all := range []string{"default", "ALL", "everything"} {
			equal(t, all, strings.Count(do(t, c, "INFO", all), "# "), len(infoSections))
		}
		for _, section := range infoSections {
			got := do(t, c, "INFO", section)
			if !strings.HasPrefix(strings.ToLower(got), "# "+section+"\r\n") || strings.Count(got, "#") != 1 {
				t.Fatalf("INFO %s: %q", section, got)
			}
		}
		equal(t, "two sections", strings.Count(do(t, c, "INFO", "server", "memory"), "# "), 2)
		equal(t, "a section there is not", do(t, c, "INFO", "modules"), "")
	})
}

func TestInfoNamesTheTCPPort(t *testing.T) {
	m := listening(t)
	_, port, _ := strings.Cut(m.Addr(), ":")
	equal(t, "tcp_port", field(t, do(t, dialTCP(t, m), "INFO", "server"), "tcp_port"), port)
	equal(t, "URL", m.URL(), "redis://127.0.0.1:"+port)
}

func TestInfoAndTimeAnswerInsideLua(t *testing.T) {
	inBubble(t, func(t *testing.T, m *Master, c redis.Conn) {
		equal(t, "the run_id a script sees", do(t, c, "EVAL", `
			local info = redis.call('INFO', 'server')
			return string.match(info, 'run_id:(%w+)')`, 0), m.RunID())
		equal(t, "pcall", do(t, c, "EVAL", `return redis.pcall('info', 'clients')`, 0), do(t, c, "INFO", "clients"))

		m.SetClockOffset(time.Hour + 1234*time.Microsecond)
		want := do(t, c, "TIME")
		equal(t, "TIME in a script", do(t, c, "EVAL", `return redis.call('TIME')`, 0), want)
		equal(t, "TIME", want, timeReply(time.Now().Add(time.Hour+1234*time.Microsecond)))

		for _, cmd := range []string{"'CLIENT', 'ID'", "'ROLE'", "'CONFIG', 'GET', 'save'", "'HELLO'"} {
			fails(t, "not allowed from script", c, "EVAL", "return redis.call("+cmd+")", 0)
		}
		// The connection itself is as before.
		equal(t, "CLIENT ID", do(t, c, "CLIENT", "ID"), 1)
	})
}

func TestRoleAndConfig(t *testing.T) {
	inBubble(t, func(t *testing.T, _ *Master, c redis.Conn) {
		equal(t, "ROLE", do(t, c, "ROLE"), "[master 0 []]")
		fails(t, "wrong number", c, "ROLE", "x")
		equal(t, "policy", do(t, c, "CONFIG", "GET", "maxmemory-policy"), "[maxmemory-policy noeviction]")
		equal(t, "a pattern", do(t, c, "CONFIG", "GET", "MAXMEMORY*"), "[maxmemory 0 maxmemory-policy noeviction]")
		equal(t, "two names", do(t, c, "CONFIG", "GET", "save", "appendonly"), "[appendonly no save ]")
		equal(t, "an unknown name", do(t, c, "CONFIG", "GET", "port"), "[]")
		fails(t, "not simulated", c, "CONFIG", "SET", "save", "60 1")
		fails(t, "wrong number", c, "CONFIG", "GET")
		fails(t, "wrong number", c, "CONFIG")
	})
}

func TestHelloAgreesWithInfoAndClientID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := start(t)
		dial(t, m)
		c := dial(t, m)
		equal(t, "HELLO 2", do(t, c, "HELLO", "2", "AUTH", "default", "any", "SETNAME", "me"),
			"[server redis version 7.2.0 proto 2 id 2 mode standalone role master modules []]")
		equal(t, "the name", do(t, c, "CLIENT", "GETNAME"), "me")
		equal(t, "HELLO alone", do(t, c, "HELLO"), do(t, c, "HELLO", "2"))
		fails(t, "NOPROTO", c, "HELLO", "4")
		fails(t, "not an integer", c, "HELLO", "x")
		fails(t, "WRONGPASS", c, "HELLO", "2", "AUTH", "eve", "any")
		fails(t, "Syntax error", c, "HELLO", "2", "SETNAME")
		fails(t, "cannot contain", c, "HELLO", "2", "SETNAME", "a b")
	})
}

func TestHelloSwitchesTheProtocol(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn, err := start(t).Dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		mustWrite(t, conn, "HELLO 3\r\n")
		buf := make([]byte, 512)
		n, err := conn.Read(buf)
		if err != nil || !strings.HasPrefix(string(buf[:n]), "%7\r\n") || !strings.Contains(string(buf[:n]), "proto\r\n:3\r\n") {
			t.Fatalf("HELLO 3: %q, %v", buf[:n], err)
		}
		mustWrite(t, conn, "GET nothing\r\n")
		wantRead(t, conn, "_\r\n", nil)
	})
}

func TestServerCommandsInsideMultiDoomTheTransaction(t *testing.T) {
	inBubble(t, func(t *testing.T, m *Master, c redis.Conn) {
		for _, cmd := range []string{"INFO", "ROLE", "CLIENT", "CONFIG", "HELLO"} {
			do(t, c, "MULTI")
			equal(t, "SET", do(t, c, "SET", "k", "v"), "QUEUED")
			fails(t, "not simulated", c, cmd)
			fails(t, "EXECABORT", c, "EXEC")
		}
		equal(t, "keys", m.Keys(), "[]")
		do(t, c, "MULTI")
		equal(t, "TIME", do(t, c, "TIME"), "QUEUED")
		equal(t, "EXEC", do(t, c, "EXEC"), "["+timeReply(time.Now())+"]")
		equal(t, "afterwards", field(t, do(t, c, "INFO"), "role"), "master")
	})
}

func TestAnotherHistoryLeavesTheProcessAndItsDataAlone(t *testing.T) {
	inBubble(t, func(t *testing.T, m *Master, c redis.Conn) {
		replID := func() string { t.Helper(); return field(t, do(t, c, "INFO", "replication"), "master_replid") }
		do(t, c, "SET", "k", "v")
		before, run := replID(), m.RunID()
		if err := m.NewHistory(); err != nil {
			t.Fatal(err)
		}
		after := replID()
		if after == before || !regexp.MustCompile(`^[0-9a-f]{40}$`).MatchString(after) {
			t.Fatalf("the history is %q, before %q", after, before)
		}
		equal(t, "in a script", do(t, c, "EVAL", `return string.match(redis.call('INFO'), 'master_replid:(%w+)')`, 0), after)
		equal(t, "run_id", m.RunID(), run)
		equal(t, "CLIENT ID", do(t, c, "CLIENT", "ID"), 1)
		equal(t, "GET", do(t, c, "GET", "k"), "v")

		m.Freeze()
		if err := m.NewHistory(); err != nil {
			t.Fatal(err)
		}
		m.Thaw()
		if replID() == after {
			t.Fatal("a frozen master keeps its history")
		}
		m.Kill()
		equal(t, "killed", m.NewHistory(), ErrKilled)
		m.Close()
		equal(t, "closed", m.NewHistory(), ErrClosed)
	})
}

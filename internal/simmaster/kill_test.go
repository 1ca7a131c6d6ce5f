package simmaster

import (
	"context"
	"errors"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"
)

func TestAKilledMasterResetsAndRefuses(t *testing.T) {
	inBubble(t, func(t *testing.T, m *Master, c redis.Conn) {
		do(t, c, "SET", "k", "v")
		waiting := make(chan error, 1)
		go func() { _, err := c.Receive(); waiting <- err }()
		synctest.Wait()
		m.Kill()
		m.Kill()
		if err := <-waiting; !errors.Is(err, syscall.ECONNRESET) {
			t.Fatalf("a read in progress: %v, want ECONNRESET", err)
		}
		if _, err := m.Dial(t.Context()); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Fatalf("dialling: %v, want ECONNREFUSED", err)
		}
		equal(t, "up", m.Up(), false)
		equal(t, "connections", m.Connections(), 0)
		if err := m.Listen(); !errors.Is(err, ErrKilled) {
			t.Fatalf("listening: %v, want ErrKilled", err)
		}
	})
}

func TestARestartIsANewRunWithOrWithoutTheData(t *testing.T) {
	inBubble(t, func(t *testing.T, m *Master, c redis.Conn) {
		do(t, c, "SET", "k", "v", "PX", "10000")
		do(t, c, "SELECT", "3")
		do(t, c, "SET", "three", "v")
		sha := do(t, c, "SCRIPT", "LOAD", "return 1")
		first := m.RunID()
		m.Kill()
		time.Sleep(4 * time.Second)
		if err := m.Restart(true); err != nil {
			t.Fatal(err)
		}
		c = dial(t, m)
		equal(t, "the TTL ran on", do(t, c, "PTTL", "k"), 6000)
		equal(t, "scripts", do(t, c, "SCRIPT", "EXISTS", sha), "[0]")
		equal(t, "CLIENT ID", do(t, c, "CLIENT", "ID"), 1)
		equal(t, "uptime", field(t, do(t, c, "INFO"), "uptime_in_seconds"), 0)
		second := m.RunID()
		if first == second {
			t.Fatal("the run_id is that of the first run")
		}

		if err := m.Restart(false); err != nil { // kills it first
			t.Fatal(err)
		}
		if _, err := c.Do("PING"); err == nil {
			t.Fatal("a connection outlived a restart")
		}
		c = dial(t, m)
		equal(t, "keys", m.Keys(), "[]")
		do(t, c, "SELECT", "3")
		equal(t, "keys of database 3", do(t, c, "DBSIZE"), 0)
		if id := m.RunID(); id == first || id == second {
			t.Fatal("the run_id is that of an earlier run")
		}
	})
}

func TestNothingThatWaitedSurvivesAKill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := start(t)
		m.Freeze()
		for range 5 {
			c := dial(t, m)
			send(t, c, "SET", "k", "v")
			send(t, c, "SET", "k", "v")
			flush(t, c)
		}
		synctest.Wait()
		equal(t, "waiting", m.Waiting(), 5)
		m.Kill()
		equal(t, "waiting", m.Waiting(), 0)
		m.Freeze() // does nothing to a killed master
		if err := m.Restart(true); err != nil {
			t.Fatal(err)
		}
		equal(t, "frozen", m.Frozen(), false)
		equal(t, "keys", m.Keys(), "[]")
		equal(t, "PING", do(t, dial(t, m), "PING"), "PONG")
	})
}

func TestAMasterOverTCPIsKilledAndComesBackAtItsAddress(t *testing.T) {
	m := listening(t)
	addr := m.Addr()
	c := dialTCP(t, m)
	do(t, c, "SET", "k", "v")
	m.Kill()
	if _, err := c.Do("GET", "k"); !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
		t.Fatalf("a connection of a killed master: %v, want a reset", err)
	}
	if conn, err := net.Dial("tcp", addr); !errors.Is(err, syscall.ECONNREFUSED) {
		if err == nil {
			_ = conn.Close()
		}
		t.Fatalf("dialling a killed master: %v, want ECONNREFUSED", err)
	}
	for _, keep := range []bool{true, false} {
		if err := m.Restart(keep); err != nil {
			t.Fatal(err)
		}
		equal(t, "address", m.Addr(), addr)
		_, err := redis.String(dialTCP(t, m).Do("GET", "k"))
		equal(t, "the key is there", err == nil, keep)
	}
}

func TestFaultsFromManyGoroutinesLeaveAMasterThatWorks(t *testing.T) {
	m := listening(t)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	done := make(chan struct{})
	actions := []func(){
		m.Kill, m.Freeze, m.Thaw, m.FlushAll,
		func() { _ = m.Restart(true) },
		func() { _ = m.Restart(false) },
		func() { m.SetClockOffset(time.Minute) },
		func() { m.SetClockOffset(-time.Minute) },
		func() { m.Keys(); m.Commands(); m.Connections(); m.RunID() },
	}
	for _, dial := range []func() (net.Conn, error){
		func() (net.Conn, error) { return m.Dial(ctx) },
		func() (net.Conn, error) { return (&net.Dialer{}).DialContext(ctx, "tcp", m.Addr()) },
	} {
		for range 3 {
			actions = append(actions, func() {
				conn, err := dial()
				if err != nil {
					return
				}
				c := redis.NewConn(conn, 20*time.Millisecond, 20*time.Millisecond)
				defer func() { _ = c.Close() }()
				_, _ = c.Do("EVAL", "return redis.call('SET', KEYS[1], redis.call('INFO'), 'PX', 1000)", 1, "k")
				_, _ = c.Do("CLIENT", "KILL", "ID", "3")
			})
		}
	}
	for _, act := range actions {
		go func() {
			for ctx.Err() == nil {
				act()
			}
			done <- struct{}{}
		}()
	}
	for range actions {
		<-done
	}
	if err := m.Restart(false); err != nil {
		t.Fatal(err)
	}
	equal(t, "PING", do(t, dialTCP(t, m), "PING"), "PONG")
	equal(t, "keys", m.Keys(), "[]")
}

package simmaster

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/testutil"
)

func TestAFrozenMasterExecutesNothingUntilItIsThawed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := start(t)
		a, b := dial(t, m), dial(t, m)
		do(t, a, "SET", "k", "0")
		m.Freeze()
		m.Freeze()
		equal(t, "frozen", m.Frozen(), true)
		equal(t, "up", m.Up(), true)
		for _, v := range []string{"1", "2", "3"} {
			send(t, a, "SET", "k", v)
		}
		flush(t, a)
		synctest.Wait()
		send(t, b, "APPEND", "k", "b")
		flush(t, b)
		late := dial(t, m) // connecting still succeeds
		send(t, late, "GET", "k")
		flush(t, late)
		time.Sleep(time.Hour)
		synctest.Wait()
		equal(t, "waiting", m.Waiting(), 3)
		if v, _ := m.Get("k"); v != "0" {
			t.Fatalf("a frozen master executed something: %q", v)
		}
		equal(t, "executed", m.Commands()["SET"], 1)

		m.Thaw()
		m.Thaw()
		synctest.Wait()
		equal(t, "frozen", m.Frozen(), false)
		for range 3 {
			equal(t, "SET", receive(t, a), "OK")
		}
		receive(t, b)
		receive(t, late)
		equal(t, "executed", m.Commands()["SET"], 4)
		equal(t, "waiting", m.Waiting(), 0)
	})
}

func TestFreezingStopsInTheMiddleOfABatch(t *testing.T) {
	m := listening(t)
	c := dialTCP(t, m)
	const batch = 20_000
	for range batch {
		send(t, c, "INCR", "n")
	}
	go func() { _ = c.Flush() }() // the rest of the batch may wait for the thaw
	testutil.Eventually(t, "the batch is under way", func() bool { return m.Commands()["INCR"] > 0 })
	m.Freeze()
	at, _ := m.Get("n")
	testutil.Eventually(t, "a command waits", func() bool { return m.Waiting() == 1 || at == "20000" })
	for range 100 {
		if now, _ := m.Get("n"); now != at {
			t.Fatalf("a frozen master went from %s to %s", at, now)
		}
	}
	m.Thaw()
	for i := range batch {
		equal(t, "reply", receive(t, c), i+1)
	}
}

func TestAFrozenMasterSendsNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, m *Master, c redis.Conn) {
		sub := redis.PubSubConn{Conn: dial(t, m)}
		if err := sub.Subscribe("ch"); err != nil {
			t.Fatal(err)
		}
		sub.Receive()
		m.Freeze()
		send(t, c, "PUBLISH", "ch", "hello")
		flush(t, c)
		got := make(chan any, 1)
		go func() { got <- sub.Receive() }()
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(got) > 0 {
			t.Fatalf("a frozen master sent %v", <-got)
		}
		m.Thaw()
		if msg, ok := (<-got).(redis.Message); !ok || string(msg.Data) != "hello" {
			t.Fatalf("after the thaw: %v", msg)
		}
		equal(t, "PUBLISH", receive(t, c), 1)
	})
}

func TestWhatAClientLeftBehindIsExecutedAtTheThaw(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := start(t)
		conn, err := m.Dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		m.Freeze()
		for i := range 10 {
			mustWrite(t, conn, fmt.Sprintf("SET orphan%d v PX 1000\r\n", i))
		}
		_ = conn.(*Conn).SetLinger(0)
		_ = conn.Close()
		synctest.Wait()
		equal(t, "keys while frozen", m.Keys(), "[]")
		m.Thaw()
		synctest.Wait()
		equal(t, "keys", len(m.Keys()), 10)
		equal(t, "connections", m.Connections(), 0)
	})
}

func TestClientKillStopsWhatTheVictimHadWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := start(t)
		killer, victim := dial(t, m), dial(t, m)
		id := do(t, victim, "CLIENT", "ID")
		m.Freeze()
		send(t, killer, "CLIENT", "KILL", "ID", id)
		flush(t, killer)
		synctest.Wait()
		send(t, victim, "SET", "late", "v")
		send(t, victim, "SET", "later", "v")
		flush(t, victim)
		synctest.Wait()
		m.Thaw()
		equal(t, "killed", receive(t, killer), 1)
		synctest.Wait()
		equal(t, "keys", m.Keys(), "[]")
	})
}

package simmaster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"
)

func TestOptionsAreValidated(t *testing.T) {
	for _, name := range []string{"nohost", ":6379", "host:", "a:b:c"} {
		if _, err := New(Options{Name: name}); err == nil || !strings.Contains(err.Error(), "Options.Name") {
			t.Errorf("Name %q: %v", name, err)
		}
	}
	if _, err := New(Options{Rand: bytes.NewReader(nil)}); !errors.Is(err, io.EOF) {
		t.Errorf("no randomness: %v", err)
	}
}

func TestRunIDsAreMadeOfTheGivenRandomness(t *testing.T) {
	var ids []string
	for range 2 {
		m, err := New(Options{Rand: strings.NewReader(strings.Repeat("abcdefghijklmnopqrstuvwxyz", 8))})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, m.RunID())
		m.Close()
	}
	equal(t, "the second master's run_id", ids[1], ids[0])
}

func TestAMasterListensOnOneLoopbackAddress(t *testing.T) {
	m := start(t)
	equal(t, "the address before", m.Addr(), m.Name())
	for _, addr := range []string{":0", "0.0.0.0:0", "nonsense", "8.8.8.8:6379"} {
		if err := m.Listen(addr); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", addr)) {
			t.Errorf("Listen(%q): %v", addr, err)
		}
	}
	if err := m.Listen("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	if err := m.Listen(""); err == nil || !strings.Contains(err.Error(), "already listening") {
		t.Errorf("listening twice: %v", err)
	}
	// Both ways in lead to the same data.
	do(t, dialTCP(t, m), "SET", "k", "v")
	equal(t, "GET", do(t, dial(t, m), "GET", "k"), "v")
}

func TestDialRespectsAContextThatIsOver(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := start(t).Dial(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
}

func TestABatchWrittenBeforeItsRepliesAreReadDoesNotDeadlock(t *testing.T) {
	for name, dial := range map[string]func(*testing.T, *Master) redis.Conn{"in memory": dial, "TCP": dialTCP} {
		t.Run(name, func(t *testing.T) {
			c := dial(t, listening(t))
			const batch = 2000
			for i := range batch {
				send(t, c, "SET", "k", i, "PX", 60000)
			}
			send(t, c, "GET", "k")
			flush(t, c)
			for range batch {
				equal(t, "SET", receive(t, c), "OK")
			}
			equal(t, "GET", receive(t, c), batch-1)
		})
	}
}

func TestAClientThatDoesNotReadDoesNotHoldUpTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := start(t)
		if err := m.Set("big", strings.Repeat("x", 1<<20), 0); err != nil {
			t.Fatal(err)
		}
		greedy, other := dial(t, m), dial(t, m)
		for range 100 {
			send(t, greedy, "GET", "big")
		}
		flush(t, greedy)
		synctest.Wait()
		equal(t, "PING", do(t, other, "PING"), "PONG")
		// 100 MiB are above what is kept for one client: it is cut off.
		equal(t, "connections", m.Connections(), 1)
	})
}

func TestMalformedBytesEndTheConnectionAndNothingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := start(t)
		other := dial(t, m)
		for _, bad := range []string{"*1\r\n$99999999999\r\n", "*-5\r\n*1\r\n:1\r\n", "*1\r\n$1\r\nabc\r\n", strings.Repeat("x", 20000)} {
			conn, err := m.Dial(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			mustWrite(t, conn, "PING\r\n*0\r\n"+bad)
			wantRead(t, conn, "+PONG\r\n", nil)
			wantRead(t, conn, "", io.EOF)
			_ = conn.Close()
		}
		equal(t, "PING", do(t, other, "PING"), "PONG")
	})
}

func TestInspectionFromOutside(t *testing.T) {
	inBubble(t, func(t *testing.T, m *Master, c redis.Conn) {
		do(t, c, "HSET", "hash", "f", "v")
		for _, ttl := range []time.Duration{-time.Second, time.Microsecond} {
			if err := m.Set("k", "v", ttl); err == nil || !strings.Contains(err.Error(), ttl.String()) {
				t.Fatalf("ttl %v: %v", ttl, err)
			}
		}
		for _, key := range []string{"forever", "hash"} { // over another type too
			if err := m.Set(key, "v", 0); err != nil {
				t.Fatal(err)
			}
		}
		if err := m.Set("k", "v", 1500*time.Millisecond); err != nil {
			t.Fatal(err)
		}
		equal(t, "PTTL", do(t, c, "PTTL", "k"), 1500)
		time.Sleep(time.Second)
		ttl, ok := m.TTL("k")
		equal(t, "TTL", fmt.Sprint(ttl, ok), "500ms true")
		ttl, ok = m.TTL("forever")
		equal(t, "TTL of one without", fmt.Sprint(ttl, ok), "0s true")
		ttl, ok = m.TTL("nothing")
		equal(t, "TTL of none", fmt.Sprint(ttl, ok), "0s false")
		equal(t, "Keys", m.Keys(), "[forever hash k]")
		do(t, c, "SADD", "set", "x")
		for key, want := range map[string]string{"k": "[v true]", "set": "[ false]", "nothing": "[ false]"} {
			v, ok := m.Get(key)
			equal(t, key, []any{v, ok}, want)
		}
		m.FlushAll()
		equal(t, "Keys", m.Keys(), "[]")
		equal(t, "commands", fmt.Sprint(m.Commands()), "map[HSET:1 PTTL:1 SADD:1]")
	})
}

func TestAClusterIsReachedByItsURLs(t *testing.T) {
	c, err := StartCluster(3)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	seen := map[string]bool{}
	for i, url := range c.URLs() {
		conn, err := redis.DialURL(url)
		if err != nil {
			t.Fatal(err)
		}
		do(t, client(t, conn), "SET", "i", i)
		v, _ := c.Masters()[i].Get("i")
		equal(t, url, v, i)
		seen[c.Masters()[i].RunID()] = true
	}
	equal(t, "run ids", len(seen), 3)
	c.Close()
	c.Close()
	for _, n := range []int{0, -1, 1001} {
		if _, err := StartCluster(n); err == nil || !strings.Contains(err.Error(), fmt.Sprint(n)) {
			t.Errorf("StartCluster(%d): %v", n, err)
		}
	}
}

func TestAMemoryClusterIsReachedByItsDialer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := StartMemoryCluster(3)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		equal(t, "URLs", c.URLs(), "[redis://master-1.sim:6379 redis://master-2.sim:6379 redis://master-3.sim:6379]")
		for i, m := range c.Masters() {
			conn, err := redis.DialURLContext(t.Context(), m.URL(), redis.DialContextFunc(c.Dialer()))
			if err != nil {
				t.Fatal(err)
			}
			do(t, client(t, conn), "SET", "i", i)
			v, _ := m.Get("i")
			equal(t, m.URL(), v, i)
		}
		var op *net.OpError
		if _, err := c.Dialer()(t.Context(), "tcp", "master-4.sim:6379"); !errors.As(err, &op) || !strings.Contains(err.Error(), "master-4.sim:6379") {
			t.Fatalf("an unknown address: %v", err)
		}
	})
}

package redlocktest

import (
	"errors"
	"fmt"
	"net"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
)

func dial(t *testing.T, url string) redis.Conn {
	t.Helper()
	c, err := redis.DialURL(url, redis.DialReadTimeout(10*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func set(t *testing.T, c redis.Conn, key string) {
	t.Helper()
	if reply, err := redis.String(c.Do("SET", key, "token", "NX", "PX", 30000)); reply != "OK" || err != nil {
		t.Fatalf("SET NX: %q, %v", reply, err)
	}
}

func TestStartedMastersServeUntilTheTestIsOver(t *testing.T) {
	var urls []string
	t.Run("while it runs", func(t *testing.T) {
		urls = Start(t, 3)
		for _, url := range urls {
			set(t, dial(t, url), "k") // free on each: they are independent
		}
	})
	if len(urls) != 3 {
		t.Fatalf("got %v", urls)
	}
	for _, url := range urls {
		conn, err := net.Dial("tcp", strings.TrimPrefix(url, "redis://"))
		if !errors.Is(err, syscall.ECONNREFUSED) {
			if err == nil {
				_ = conn.Close()
			}
			t.Errorf("%s after the test: %v, want ECONNREFUSED", url, err)
		}
	}
}

func TestMastersOfNoTestServeUntilTheyAreStopped(t *testing.T) {
	urls, stop, err := Run(3)
	if err != nil {
		t.Fatal(err)
	}
	for _, url := range urls {
		set(t, dial(t, url), "k") // free on each: they are independent
	}
	stop()
	stop() // does nothing more
	for _, url := range urls {
		if _, err := redis.DialURL(url); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("%s when stopped: %v, want ECONNREFUSED", url, err)
		}
	}
	if urls, stop, err := Run(0); err == nil || urls != nil || stop != nil || !strings.Contains(err.Error(), "redlocktest: starting 0 masters") {
		t.Errorf("no masters: %v, %v", urls, err)
	}
}

func TestAKilledMasterComesBackEmptyAtItsURL(t *testing.T) {
	c := StartCluster(t, 3)
	before := c.URLs()
	for i := range before {
		set(t, dial(t, before[i]), "k")
	}
	c.Kill(1)
	c.Kill(1)
	if _, err := redis.DialURL(before[1]); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Fatalf("dialling a killed master: %v", err)
	}
	c.Restart(1)
	c.Restart(2)
	if after := c.URLs(); strings.Join(after, " ") != strings.Join(before, " ") {
		t.Fatalf("URLs went from %v to %v", before, after)
	}
	for i, want := range []int{1, 0, 0} {
		if n, err := redis.Int(dial(t, before[i]).Do("EXISTS", "k")); n != want || err != nil {
			t.Errorf("keys of master %d: %d, %v; want %d", i, n, err, want)
		}
	}
}

func TestAFrozenMasterAnswersWhenThawed(t *testing.T) {
	c := StartCluster(t, 3)
	conn := dial(t, c.URLs()[0])
	c.Freeze(0)
	if _, err := redis.DoWithTimeout(conn, 50*time.Millisecond, "SET", "k", "v"); err == nil {
		t.Fatal("a frozen master answered")
	}
	conn = dial(t, c.URLs()[0])
	if err := conn.Send("PING"); err != nil {
		t.Fatal(err)
	}
	if err := conn.Flush(); err != nil {
		t.Fatal(err)
	}
	c.Thaw(0)
	if reply, err := redis.String(conn.Receive()); reply != "PONG" || err != nil {
		t.Fatalf("after the thaw: %q, %v", reply, err)
	}
	if n, err := redis.Int(conn.Do("EXISTS", "k")); n != 1 || err != nil {
		t.Fatalf("what waited was not executed: %d, %v", n, err)
	}
	c.Thaw(0)
	c.Freeze(0) // cleaning up a frozen master ends too
}

// failing is a testing.TB that notes how it was ended.
type failing struct {
	testing.TB
	fatal string
}

func (f *failing) Helper() {}

func (f *failing) Fatalf(format string, args ...any) {
	f.fatal = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func TestWhatCannotBeEndsTheTestWithAReason(t *testing.T) {
	for want, call := range map[string]func(testing.TB){
		"starting 0 masters":                         func(tb testing.TB) { Start(tb, 0) },
		"starting -1 masters":                        func(tb testing.TB) { StartCluster(tb, -1) },
		"Kill(3): want a master from 0 to 2":         func(tb testing.TB) { StartCluster(tb, 3).Kill(3) },
		"Restart(-1): want a master from 0 to 2":     func(tb testing.TB) { StartCluster(tb, 3).Restart(-1) },
		"Freeze(5): want a master from 0 to 4":       func(tb testing.TB) { StartCluster(tb, 5).Freeze(5) },
		"Thaw(1): want a master from 0 to 0":         func(tb testing.TB) { StartCluster(tb, 1).Thaw(1) },
		"restarting master 0: simmaster: master is ": func(tb testing.TB) { c := StartCluster(tb, 1); c.masters[0].Close(); c.Restart(0) },
	} {
		tb := &failing{TB: t}
		var wg sync.WaitGroup
		wg.Go(func() { call(tb) })
		wg.Wait()
		if !strings.Contains(tb.fatal, "redlocktest: ") || !strings.Contains(tb.fatal, want) {
			t.Errorf("got %q, want it to say %q", tb.fatal, want)
		}
	}
}

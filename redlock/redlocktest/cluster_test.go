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

package integration

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/internal/redistest/port"
	"github.com/redquorum/redquorum/internal/testutil"
	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

// startSentinel starts a Sentinel with these lines in its configuration, and returns its address.
func startSentinel(t *testing.T, conf string) string {
	t.Helper()
	path, _, err := redistest.Find()
	if err != nil {
		t.Skip("needs a redis-server:", err)
	}
	n, free, err := port.Reserve()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = free() })
	file := filepath.Join(t.TempDir(), "sentinel.conf")
	if err := os.WriteFile(file, []byte("bind 127.0.0.1\nport "+strconv.Itoa(n)+"\n"+conf), 0o600); err != nil {
		t.Fatal(err)
	}
	// The Sentinel ends with this process, however that ends: then nothing has the pipe open for
	// writing.
	sentinel := exec.Command("sh", "-c", `"$0" "$1" --sentinel & read -r _; kill -9 $!`, path, file)
	alive, err := sentinel.StdinPipe()
	if err == nil {
		err = sentinel.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = alive.Close()
		_ = sentinel.Wait()
	})
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(n))
}

// A master is cut off from its Sentinel, which promotes the replica. One client keeps its
// connection to the old master, the other asks the Sentinel where the master is. Without
// min-replicas-to-write two may hold one lock, and nothing here can see that. With it they do not,
// if the last renewal at the old master is over before the new one votes. The old master misses
// its replica after min-replicas-max-lag, or sooner if something shows the loss.
func TestAnOldMasterBehindASentinelGrantsNothingBesideTheNewOne(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		least  int           // min-replicas-to-write
		silent bool          // the replica's connection is cut as well, with no sign of its end
		maxTTL time.Duration // the TTL of locks is a second
		said   bool          // two may hold one lock
	}{
		"min-replicas-to-write 0":                                  {0, false, time.Second, true},
		"min-replicas-to-write 1":                                  {1, false, time.Second, false},
		"min-replicas-to-write 1, and the replica is cut off, too": {1, true, 5 * time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			both := startFailingOver(t, test.least, test.silent)
			l := holds(t, both.client(test.maxTTL))
			both.failOver()
			other := both.client(test.maxTTL)
			beside, granted := 0, 0
			for end := time.Now().Add(2*test.maxTTL + 3*time.Second); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
				theirs, err := other.TryLock(context.Background(), "key")
				if err != nil {
					continue
				}
				granted++
				if l.Remaining() > 0 {
					beside++
				}
				_ = theirs.Unlock(context.Background())
			}
			t.Logf("the new master granted the lock %d times, %d of them beside the holder at the old one", granted, beside)
			if granted == 0 {
				t.Error("the new master has granted nothing")
			}
			if beside > 0 && !test.said {
				t.Error("two held one lock")
			} else if beside > 0 {
				t.Log("not excluded, as the pages say")
			}
			_ = l.Unlock(context.Background())
		})
	}
}

// A failingOver is a master with a replica, and a Sentinel that can be cut off from the master.
type failingOver struct {
	t        *testing.T
	p        *processes
	way      *redistest.Proxy // from the Sentinel to the master
	quiet    *quietWay        // from the replica, if it is cut off, too
	sentinel string
}

func startFailingOver(t *testing.T, least int, silent bool) *failingOver {
	t.Helper()
	p := startConfigured(t, redistest.Config{Args: []string{"--repl-diskless-sync-delay", "0", "--min-replicas-max-lag", "1"}}, 2)
	way, err := redistest.NewProxy(p.servers[0].Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(way.Close)
	from := p.servers[0].Addr()
	quiet := &quietWay{}
	if silent {
		from = quiet.open(t, from)
	}
	follow(t, p.servers[1].Do, from)
	p.do(0, "CONFIG", "SET", "min-replicas-to-write", least)
	host, port, _ := net.SplitHostPort(way.Addr())
	f := &failingOver{t: t, p: p, way: way, quiet: quiet}
	f.sentinel = startSentinel(t, fmt.Sprintf("sentinel monitor m %s %s 1\nsentinel down-after-milliseconds m 500\nsentinel failover-timeout m 5000\n", host, port))
	eventually(t, "the Sentinel knows the replica", func() bool {
		known, err := redis.Values(f.ask("SENTINEL", "SLAVES", "m"))
		return err == nil && len(known) == 1
	})
	return f
}

// A quietWay is a proxy that loses everything once it is cut, even the ends of connections.
type quietWay struct{ cut atomic.Bool }

// open starts the proxy, and returns its address.
func (w *quietWay) open(t *testing.T, to string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	over := make(chan struct{})
	t.Cleanup(func() {
		close(over)
		_ = l.Close()
		all.Wait()
	})
	carry := func(to, from net.Conn) {
		defer to.Close()
		data := make([]byte, 1<<16)
		for {
			n, err := from.Read(data)
			if w.cut.Load() && err != nil {
				<-over
			}
			if err != nil {
				return
			}
			if !w.cut.Load() {
				_, _ = to.Write(data[:n])
			}
		}
	}
	all.Go(func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", to)
			if err != nil || w.cut.Load() {
				_ = from.Close()
				continue
			}
			all.Go(func() { carry(server, from) })
			all.Go(func() { carry(from, server) })
		}
	})
	return l.Addr().String()
}

func (f *failingOver) ask(cmd string, args ...any) (any, error) {
	conn, err := redis.Dial("tcp", f.sentinel, redis.DialReadTimeout(time.Second))
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return conn.Do(cmd, args...)
}

// master returns the master's address according to the Sentinel.
func (f *failingOver) master() string {
	at, err := redis.Strings(f.ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", "m"))
	if err != nil || len(at) != 2 {
		return ""
	}
	if addr := net.JoinHostPort(at[0], at[1]); addr != f.way.Addr() {
		return addr
	}
	return f.p.servers[0].Addr()
}

// client makes a client that asks the Sentinel for the master at each dial.
func (f *failingOver) client(maxTTL time.Duration) *redlock.Client {
	dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, f.master())
	}
	return f.p.of(redlock.GuardStandard, maxTTL, []string{"redis://master:6379"}, redlock.WithTTL(time.Second), redlock.WithPool(patiently, pool.WithDialer(dial)))
}

// failOver cuts the Sentinel off from the master, and waits until it has promoted the replica.
func (f *failingOver) failOver() {
	f.t.Helper()
	f.quiet.cut.Store(true)
	f.way.Cut()
	// If its first try fails because it knows too little of the replica, it tries again ten
	// seconds later.
	testutil.Within(f.t, 3*settleBound, "the Sentinel has promoted the replica", func() bool { return f.master() == f.p.servers[1].Addr() })
}

package redsync_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"weak"

	upstreamredis "github.com/go-redsync/redsync/v4/redis"
	goredislib "github.com/redis/go-redis/v9"

	"github.com/redquorum/redquorum/contrib/redsync"
	"github.com/redquorum/redquorum/contrib/redsync/redis"
	"github.com/redquorum/redquorum/contrib/redsync/redis/goredis/v9"
	"github.com/redquorum/redquorum/internal/testutil"
	"github.com/redquorum/redquorum/redlock"
)

func (f *fleet) clients() []goredislib.UniversalClient {
	var all []goredislib.UniversalClient
	for _, s := range f.Masters {
		client := goredislib.NewClient(&goredislib.Options{Addr: s.Addr(), ClientName: "locks"})
		f.t.Cleanup(func() { _ = client.Close() })
		all = append(all, client)
	}
	return all
}

func poolsOf(clients []goredislib.UniversalClient) (pools []redis.Pool) {
	for _, c := range clients {
		pools = append(pools, goredis.NewPool(c))
	}
	return pools
}

// connections counts the connections of clients that were opened for go-redis clients.
func (f *fleet) connections() (n int) {
	f.t.Helper()
	for _, s := range f.Masters {
		list, err := s.Do("CLIENT", "LIST")
		f.must(err)
		n += strings.Count(fmt.Sprintf("%s", list), "name=locks ")
	}
	return n
}

func (f *fleet) wantConnections(want int) {
	f.t.Helper()
	testutil.Eventually(f.t, fmt.Sprintf("%d connections", want), func() bool { return f.connections() == want })
}

func TestSameGoRedisClientsShareOneClientInAnyOrder(t *testing.T) {
	f := startFleet(t, 3)
	clients := f.clients()
	reversed := slices.Clone(clients)
	slices.Reverse(reversed)
	a, b := redsync.New(poolsOf(clients)...), redsync.New(poolsOf(reversed)...)
	f.wantConnections(0) // before the first lock
	for key, rs := range map[string]*redsync.Redsync{"a": a, "b": b} {
		mutex := rs.NewMutex(key)
		f.must(mutex.Lock())
		f.wantOK(mutex.Unlock())
	}
	f.wantConnections(3)

	f.set(0, 1)
	for rs, want := range map[*redsync.Redsync][]int{a: {0, 1}, b: {1, 2}} {
		taken := wantTaken(t, rs.NewMutex("lock", redsync.WithTries(1)).Lock())
		slices.Sort(taken.Nodes)
		if !slices.Equal(taken.Nodes, want) {
			t.Errorf("taken on %v, want %v", taken.Nodes, want)
		}
	}
	f.must(errors.Join(a.Close(), b.Close()))
	f.wantConnections(0)
}

func TestCredentialErrorNamesThePositionInNew(t *testing.T) {
	const secret = "S3CR3T"
	f := startFleet(t, 1)
	addr := f.Masters[0].Addr()
	wrong := goredislib.NewClient(&goredislib.Options{Addr: addr, Password: secret})
	gone := goredislib.NewClient(&goredislib.Options{Addr: "127.0.0.1:1"})
	defer func() { f.must(errors.Join(wrong.Close(), gone.Close())) }()
	for want, clients := range map[string][]goredislib.UniversalClient{"master 1": {wrong, gone}, "master 2": {gone, wrong}} {
		rs := redsync.New(poolsOf(clients)...)
		defer func() { f.must(rs.Close()) }()
		testutil.Eventually(t, "the error names "+want, func() bool {
			err := rs.NewMutex("lock", redsync.WithTries(1)).Lock()
			if err == nil || strings.Contains(err.Error(), secret) {
				t.Fatalf("%v", err)
			}
			return strings.Contains(err.Error(), addr+" ("+want+"): password refused (the master is up): AUTH: ")
		})
	}
}

func TestTheLastCloseEndsTheClientAndNoOther(t *testing.T) {
	f := startFleet(t, 3)
	clients := f.clients()
	a, b := redsync.New(poolsOf(clients)...), redsync.New(poolsOf(clients)...)
	held, kept := a.NewMutex("a"), b.NewMutex("b")
	f.must(errors.Join(held.Lock(), kept.Lock()))

	f.must(errors.Join(a.Close(), a.Close()))
	f.wantIs(a.NewMutex("c").Lock(), redlock.ErrClosed)
	f.wantIs(held.Lock(), redlock.ErrClosed)
	f.wantIs(f.refusal(a.NewMutex("b", redsync.WithValue(kept.Value())).Extend()), redlock.ErrClosed)
	f.wantOK(kept.Extend())
	f.wantConnections(3)

	f.must(b.Close())
	f.wantConnections(0)
	if !slices.Contains(f.values("b"), kept.Value()) {
		t.Error("Close has released a lock: Unlock alone does")
	}
	again := redsync.New(poolsOf(clients)...)
	f.must(again.NewMutex("again").Lock())
	f.must(again.Close())
	f.wantConnections(0)
}

func TestTheClientOfPoolOfIsTheCallers(t *testing.T) {
	f := startFleet(t, 1)
	client := f.open(redlock.WithMaxTTL(time.Hour))
	rs := redsync.New(redsync.PoolOf(client))
	f.must(rs.NewMutex("lock", redsync.WithExpiry(30*time.Minute)).Lock())
	f.must(rs.Close())
	f.wantIs(rs.NewMutex("other").Lock(), redlock.ErrClosed)
	if _, err := client.Lock(t.Context(), "other"); err != nil {
		t.Error(err)
	}
}

// Like redsync's, New returns no error, so Lock says what is wrong with the pools.
func TestLockReturnsErrorForUnusablePools(t *testing.T) {
	cluster := goredislib.NewClusterClient(&goredislib.ClusterOptions{Addrs: []string{"127.0.0.1:1"}})
	defer func() { _ = cluster.Close() }()
	client, err := redlock.Open([]string{"redis://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	one := goredislib.NewClient(&goredislib.Options{Addr: "127.0.0.1:1"})
	defer func() { _ = one.Close() }()
	of, master := redsync.PoolOf(client), goredis.NewPool(one)
	for name, test := range map[string]struct {
		pools []redis.Pool
		want  string
	}{
		"a nil pool":      {[]redis.Pool{master, nil}, "pool 2 is a <nil>"},
		"of a nil client": {[]redis.Pool{redsync.PoolOf(nil)}, "the client is nil"},
		"a cluster":       {[]redis.Pool{master, goredis.NewPool(cluster)}, "client 2 is a *redis.ClusterClient"},
		"mixed":           {[]redis.Pool{master, of}, "pool 2 of 2 is a redlock.Client"},
		"two clients":     {[]redis.Pool{of, of}, "pool 1 of 2 is a redlock.Client"},
	} {
		t.Run(name, func(t *testing.T) {
			rs := redsync.New(test.pools...)
			mutex := rs.NewMutex("lock")
			for range 2 {
				if err := mutex.Lock(); err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("%v, want %s", err, test.want)
				}
			}
			if ok, err := mutex.Unlock(); ok || err == nil {
				t.Errorf("Unlock: %v, %v", ok, err)
			}
			if err := rs.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A pool of another type does not compile: it would not say which master it leads to.
func TestOnlyThisModuleMakesPools(t *testing.T) {
	if reflect.TypeFor[upstreamredis.Pool]().Implements(reflect.TypeFor[redis.Pool]()) {
		t.Error("a pool of redsync is a pool here")
	}
}

// The client lives longer than the context of the call that opened it.
func TestTheFirstLocksContextDoesNotEndTheClient(t *testing.T) {
	f := startFleet(t, 3)
	rs := redsync.New(poolsOf(f.clients())...)
	ctx, cancel := context.WithCancel(t.Context())
	first := rs.NewMutex("first")
	f.must(first.LockContext(ctx))
	cancel()
	f.wantOK(first.Extend())
	f.must(rs.NewMutex("second").Lock())
	f.must(rs.Close())
}

// A client that is never closed is found again by the addresses of its go-redis clients. If these
// were garbage-collected, others could get their addresses, and locks on the wrong servers.
func TestOpenedClientKeepsItsGoRedisClientsAlive(t *testing.T) {
	f := startFleet(t, 1)
	gone := func() weak.Pointer[goredislib.Client] {
		client := goredislib.NewClient(&goredislib.Options{Addr: f.Masters[0].Addr()})
		f.must(redsync.New(goredis.NewPool(client)).NewMutex("lock").Lock())
		f.must(client.Close())
		return weak.Make(client)
	}()
	for range 3 {
		runtime.GC()
	}
	if gone.Value() == nil {
		t.Error("its address is free for another one")
	}
}

// A program that never calls Close keeps as many goroutines as the documentation of New says.
func TestUnclosedRedsyncKeepsThreeGoroutinesPerMasterAndTwo(t *testing.T) {
	f := startFleet(t, 5)
	clients := f.clients() // made first: they have goroutines too
	before := runtime.NumGoroutine()
	rs := redsync.New(poolsOf(clients)...)
	f.must(rs.NewMutex("lock").Lock())
	f.wantConnections(5)
	testutil.Eventually(t, "17 goroutines more", func() bool { return runtime.NumGoroutine()-before == 3*5+2 })
	f.must(rs.Close())
}

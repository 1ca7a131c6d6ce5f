package redsync_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	upstream "github.com/go-redsync/redsync/v4"
	upstreamredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/redigo"
	redigolib "github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/internal/testutil"
	"github.com/redquorum/redquorum/redlock"
)

// waitBound is how long a release may take.
const waitBound = 20 * time.Second

// A fleet is real masters, for this package and for redsync.
type fleet struct {
	*redistest.Cluster
	t *testing.T
}

func startFleet(t *testing.T, n int) *fleet {
	t.Helper()
	return &fleet{redistest.Start(t, n, redistest.Config{}), t}
}

func (f *fleet) open(opts ...redlock.Option) *redlock.Client {
	f.t.Helper()
	client, err := redlock.Open(f.URLs(), opts...)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { client.Close() })
	return client
}

// ready opens a client and waits until it can lock, because a new fleet is declared first.
func (f *fleet) ready() *redlock.Client {
	f.t.Helper()
	client := f.open()
	f.must(client.Ready(f.t.Context()))
	return client
}

// upstream makes redsync itself on the same masters.
func (f *fleet) upstream() *upstream.Redsync {
	var pools []upstreamredis.Pool
	for _, s := range f.Masters {
		pool := &redigolib.Pool{
			MaxIdle: 8,
			DialContext: func(ctx context.Context) (redigolib.Conn, error) {
				return redigolib.DialContext(ctx, "tcp", s.Addr())
			},
		}
		f.t.Cleanup(func() { _ = pool.Close() })
		pools = append(pools, redigo.NewPool(pool))
	}
	return upstream.New(pools...)
}

// values returns the value of a key on each master; "" if there is none.
func (f *fleet) values(key string) []string {
	f.t.Helper()
	var values []string
	for _, s := range f.Masters {
		value, err := redigolib.String(s.Do("GET", key))
		if err != nil && !errors.Is(err, redigolib.ErrNil) {
			f.t.Fatal(err)
		}
		values = append(values, value)
	}
	return values
}

// wantFree waits until no master has the key.
func (f *fleet) wantFree(key string) {
	f.t.Helper()
	testutil.Within(f.t, waitBound, key+" is free on all masters", func() bool {
		return !slices.ContainsFunc(f.values(key), func(value string) bool { return value != "" })
	})
}

func (f *fleet) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// wantOK is for calls that have to return true and no error.
func (f *fleet) wantOK(ok bool, err error) {
	f.t.Helper()
	if !ok || err != nil {
		f.t.Fatalf("%v, %v: want true and no error", ok, err)
	}
}

// refusal returns the error of a call that has to return false.
func (f *fleet) refusal(ok bool, err error) error {
	f.t.Helper()
	if ok {
		f.t.Errorf("true beside %v: want false", err)
	}
	return err
}

func (f *fleet) wantIs(err error, want ...error) {
	f.t.Helper()
	for _, target := range want {
		if !errors.Is(err, target) {
			f.t.Errorf("%v: want %v", err, target)
		}
	}
}

package bench

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/redistest"
)

const testBound = 30 * time.Second

// openWorker opens a library for a test, connected to all masters.
func openWorker(t *testing.T, open func([]string) (peer, error), c *redistest.Cluster, key string) worker {
	t.Helper()
	p, err := open(c.URLs())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.close(); err != nil {
			t.Error(err)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), testBound)
	defer cancel()
	if err := p.connect(ctx, 1); err != nil {
		t.Fatal(err)
	}
	return p.worker(key)
}

// holders counts the masters where the key has the value.
func holders(c *redistest.Cluster, key, value string) (int, error) {
	n := 0
	for _, m := range c.Masters {
		switch got, err := redis.String(m.Do("GET", key)); {
		case err == nil && got == value:
			n++
		case err != nil && !errors.Is(err, redis.ErrNil):
			return 0, err
		}
	}
	return n, nil
}

func TestEachLibraryRespectsTheOthersLock(t *testing.T) {
	redquorum := library{"redquorum", openRedquorum}
	failFast := library{"redsync-failfast", openRedsyncFailFast} // on one key
	for _, test := range []struct{ holder, other library }{
		{libraries[0], redquorum},
		{redquorum, libraries[0]},
		{failFast, redquorum},
		{redquorum, failFast},
		{redsyncGoRedis, redquorum},
		{redquorum, redsyncGoRedis},
		{pipelined, redquorum},
		{redquorum, pipelined},
	} {
		t.Run(test.holder.name+" holds against "+test.other.name, func(t *testing.T) {
			const key, quorum = "shared", masterCount/2 + 1
			c := redistest.Start(t, masterCount, redistest.Config{})
			holder := openWorker(t, test.holder.open, c, key)
			other := openWorker(t, test.other.open, c, key)
			ctx := t.Context()

			if err := holder.lock(ctx); err != nil {
				t.Fatal(err)
			}
			if err := other.lock(ctx); !isTaken(err) {
				t.Fatalf("%s took what %s holds: %v", test.other.name, test.holder.name, err)
			}
			// Its rollback must have left the holder's key alone.
			if n, err := holders(c, key, holder.token()); n < quorum || err != nil {
				t.Fatalf("%d masters have %s's token (%v): want at least %d", n, test.holder.name, err, quorum)
			}
			if err := holder.unlock(ctx); err != nil {
				t.Fatal(err)
			}
			if err := other.lock(ctx); err != nil {
				t.Fatalf("%s cannot take what %s gave back: %v", test.other.name, test.holder.name, err)
			}
			if n, err := holders(c, key, other.token()); n < quorum || err != nil {
				t.Fatalf("%d masters have %s's token (%v): want at least %d", n, test.other.name, err, quorum)
			}
			if err := other.unlock(ctx); err != nil {
				t.Fatal(err)
			}
		})
	}
}

package bench

import (
	"slices"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/faultproxy"
	"github.com/redquorum/redquorum/internal/redistest"
)

// farAway is the delay of the slow master in each direction: a ping would take
// 20 ms, as between two regions of one continent.
const farAway = 10 * time.Millisecond

// BenchmarkSlowMaster is BenchmarkLockUnlock while one of the five masters is 20
// ms away. The quorum is near, so there is nothing to wait for; redsync waits
// unless it is told to fail fast. The report sets the p50 beside those of
// BenchmarkNearMaster and BenchmarkLockUnlock.
func BenchmarkSlowMaster(b *testing.B) { benchmarkBehindProxy(b, farAway) }

// BenchmarkNearMaster is BenchmarkSlowMaster without the distance: the same
// proxy passes everything on at once. It has its share of the processors, which
// client and masters have less of, so that only both together tell what the
// distance does.
func BenchmarkNearMaster(b *testing.B) { benchmarkBehindProxy(b, 0) }

// behindProxy is the masters' URLs, with the first behind a proxy that delays every
// byte in both directions.
func behindProxy(tb testing.TB, c *redistest.Cluster, delay time.Duration) []string {
	tb.Helper()
	p, err := faultproxy.New(c.Masters[0].Addr())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(p.Close)
	p.Delay(delay)
	urls := c.URLs()
	urls[0] = "redis://" + p.Addr()
	return urls
}

func benchmarkBehindProxy(b *testing.B, delay time.Duration) {
	urls := behindProxy(b, redistest.Start(b, masterCount, redistest.Config{}), delay)
	for _, goroutines := range []int{1, 16} {
		for _, lib := range append(slices.Clone(libraries), redsyncFailFast) {
			benchmarkCrew(b, lib, urls, goroutinesName(goroutines), goroutines, (*crew).measure)
		}
	}
}

func TestASlowMasterIsSlowAndGetsEverything(t *testing.T) {
	const pairs = 20
	c := redistest.Start(t, masterCount, redistest.Config{})
	urls := behindProxy(t, c, farAway)

	conn, err := redis.DialURLContext(t.Context(), urls[0])
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	asked := time.Now()
	if _, err := redis.DoContext(conn, t.Context(), "PING"); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(asked); took < 2*farAway {
		t.Errorf("a ping took %v: want at least %v", took, 2*farAway)
	}

	w := openWorker(t, func([]string) (peer, error) { return openRedquorum(urls) }, c, "slow")
	for range pairs {
		if err := pair(w); err != nil {
			t.Fatal(err)
		}
	}
	for _, m := range c.Masters {
		awaitPairs(t, m, pairs)
	}
}

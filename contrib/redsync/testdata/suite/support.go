// This file has what redsync's own tests need: the pools with which they look at the
// masters, and the constructor. suite_test.go puts it beside the tests.
package suite

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/redigo"
	redigolib "github.com/gomodule/redigo/redis"

	. "github.com/redquorum/redquorum/contrib/redsync"
	"github.com/redquorum/redquorum/redlock"
)

// A testCase has the masters twice: pools to look at keys, and the client that
// New takes.
type testCase struct {
	poolCount int
	pools     []redis.Pool
	client    *redlock.Client
}

var (
	casesMu sync.Mutex
	cases   = make(map[int]*testCase) // by the number of masters
)

// makeCases returns the only case. A fleet has a fixed number of masters, so each number has
// separate masters.
func makeCases(poolCount int) map[string]*testCase {
	return map[string]*testCase{"redquorum": caseOf(poolCount)}
}

func caseOf(poolCount int) *testCase {
	casesMu.Lock()
	defer casesMu.Unlock()
	if c := cases[poolCount]; c != nil {
		return c
	}
	urls := strings.Split(os.Getenv("SUITE_MASTERS_"+strconv.Itoa(poolCount)), ",")
	if len(urls) != poolCount {
		panic(fmt.Sprintf("the suite was given no %d masters", poolCount))
	}
	// Two of the tests lock for an hour.
	client, err := redlock.Open(urls, redlock.WithMaxTTL(2*time.Hour))
	if err != nil {
		panic(err)
	}
	c := &testCase{poolCount: poolCount, client: client}
	for _, url := range urls {
		c.pools = append(c.pools, redigo.NewPool(&redigolib.Pool{
			MaxIdle: 3,
			DialContext: func(ctx context.Context) (redigolib.Conn, error) {
				return redigolib.DialURLContext(ctx, url)
			},
		}))
	}
	cases[poolCount] = c
	return c
}

// newTestMutexes has the options that redsync's function of this name sets.
func newTestMutexes(pools []redis.Pool, name string, n int) []*Mutex {
	rs := New(PoolOf(caseOf(len(pools)).client))
	mutexes := make([]*Mutex, n)
	for i := range n {
		mutexes[i] = rs.NewMutex(name+"-"+strconv.Itoa(i),
			WithExpiry(8*time.Second), WithTries(32), WithRetryDelay(500*time.Millisecond))
	}
	return mutexes
}

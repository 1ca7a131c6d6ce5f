package bench

import (
	"testing"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

// BenchmarkTLS is BenchmarkLockUnlock over encrypted connections. redsync has one
// for each goroutine and master, all of them dialled before the clock starts.
func BenchmarkTLS(b *testing.B) {
	authority, err := redistest.NewAuthority()
	if err != nil {
		b.Fatal(err)
	}
	masters := redistest.Start(b, masterCount, redistest.Config{TLS: authority})
	overTLS := []library{
		{"redsync", func(urls []string) (peer, error) {
			return dialRedsync(urls, redis.DialTLSConfig(authority.ClientConfig()))
		}},
		{"redquorum", func(urls []string) (peer, error) {
			return openRedquorumAt(urls, redlock.GuardStandard, redlock.WithPool(pool.WithTLS(authority.ClientConfig())))
		}},
	}
	for _, goroutines := range []int{1, 16, 256} {
		for _, lib := range overTLS {
			benchmarkPairs(b, lib, masters, goroutines)
		}
	}
}

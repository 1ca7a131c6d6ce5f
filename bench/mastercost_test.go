package bench

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

// BenchmarkMasterCost is what many locks cost one master: how many of them one fleet
// carries (docs/explanation/scaling.md). 64 goroutines lock 20,000 keys of 16 bytes,
// extend them all, and unlock them all; what goes to a master together is one command.
//
//	master-B/lock      memory of a master for a lock that is held, while it is held
//	kept-B/lock        of that, what stays when it is released: fences and lease records
//	master-µs/pair     processor time of a master for a lock and its release
//	master-µs/renewal  processor time of a master for a renewal
func BenchmarkMasterCost(b *testing.B) {
	const locks = 20_000
	for _, kind := range []struct {
		name string
		opts []redlock.Option
	}{
		{"plain", nil},
		{"fenced", []redlock.Option{redlock.WithFencing()}},
		{"strict", []redlock.Option{redlock.WithGuard(redlock.GuardStrict)}},
	} {
		b.Run(fmt.Sprintf("lib=redquorum/kind=%s/locks=%d", kind.name, locks), func(b *testing.B) {
			masters := redistest.Start(b, masterCount, redistest.Config{})
			// So long that the keeper renews none meanwhile.
			opts := append([]redlock.Option{redlock.WithPool(pool.WithCommandTimeout(2 * time.Second)), redlock.WithTTL(time.Minute), redlock.WithRenewal(redlock.Renewal{Every: 30 * time.Second})}, kind.opts...)
			client, err := redlock.Open(masters.URLs(), opts...)
			if err != nil {
				b.Fatal(err)
			}
			defer client.Close()
			if kind.name == "strict" { // a fleet is declared by hand
				if err := client.Init(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			ctx, cancel := context.WithTimeout(b.Context(), connectBound)
			defer cancel()
			if err := (&redquorumPeer{client}).connect(ctx, 0); err != nil {
				b.Fatal(err)
			}
			held := make([]*redlock.Lock, locks)
			step := func(f func(i int) error) (cpu time.Duration, memory int64) {
				before := serverCPU(b, masters)
				if err := eachOf(locks, f); err != nil {
					b.Fatal(err)
				}
				return serverCPU(b, masters) - before, usedMemory(b, masters)
			}
			var pair, renewal time.Duration
			var full, kept int64
			for range b.N {
				empty := usedMemory(b, masters)
				acquired, most := step(func(i int) (err error) {
					held[i], err = client.TryLock(b.Context(), fmt.Sprintf("scaling:%08d", i))
					return err
				})
				extended, _ := step(func(i int) error { return held[i].Extend(b.Context()) })
				released, left := step(func(i int) error { return held[i].Unlock(b.Context()) })
				pair += acquired + released
				renewal += extended
				full, kept = full+most-empty, kept+left-empty
			}
			each := float64(b.N * locks * masterCount)
			b.ReportMetric(float64(full)/each, "master-B/lock")
			b.ReportMetric(float64(kept)/each, "kept-B/lock")
			b.ReportMetric(microseconds(pair)/each, "master-µs/pair")
			b.ReportMetric(microseconds(renewal)/each, "master-µs/renewal")
		})
	}
}

// usedMemory is the memory that the masters' data and connections take, all together.
func usedMemory(tb testing.TB, c *redistest.Cluster) (sum int64) {
	tb.Helper()
	for _, m := range c.Masters {
		n, ok := infoNumber(tb, m, "memory", "used_memory:")
		if !ok {
			tb.Fatalf("%s: INFO memory has no used_memory", m.Addr())
		}
		sum += int64(n)
	}
	return sum
}

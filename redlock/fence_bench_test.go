package redlock_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

// BenchmarkFencing is a lock and an unlock on five redis-servers, a key of its
// own for every goroutine, with what fencing and strict add.
func BenchmarkFencing(b *testing.B) {
	urls := redistest.Start(b, 5, redistest.Config{}).URLs()
	for _, test := range []struct {
		name string
		opts []redlock.Option
	}{
		{"plain", nil},
		{"fencing", []redlock.Option{redlock.WithFencing()}},
		{"strict", []redlock.Option{redlock.WithStrict()}},
		{"strict+fencing", []redlock.Option{redlock.WithStrict(), redlock.WithFencing()}},
	} {
		for _, goroutines := range []int{1, 256} {
			b.Run(fmt.Sprintf("%s/goroutines=%d", test.name, goroutines), func(b *testing.B) {
				patient := redlock.WithPool(pool.WithCommandTimeout(5 * time.Second)) // for busy machines
				c, err := redlock.Open(urls, append(test.opts, patient, redlock.WithGuard(redlock.GuardOff))...)
				if err != nil {
					b.Fatal(err)
				}
				defer c.Close()
				for c.Ready(b.Context()) != nil {
					time.Sleep(time.Millisecond)
				}
				time.Sleep(50 * time.Millisecond) // the others too
				work := make(chan struct{}, goroutines)
				done := make(chan struct{})
				for g := range goroutines {
					go func() {
						defer func() { done <- struct{}{} }()
						key := fmt.Sprintf("key-%d", g)
						for range work {
							l, err := c.TryLock(b.Context(), key)
							if err != nil {
								b.Error(err)
								continue
							}
							_ = l.Unlock(b.Context())
						}
					}()
				}
				b.ReportAllocs()
				for b.Loop() {
					work <- struct{}{}
				}
				close(work)
				for range goroutines {
					<-done
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pairs/s")
			})
		}
	}
}

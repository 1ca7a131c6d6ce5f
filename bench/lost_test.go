package bench

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/redlock"
)

// A slowHandler is a log handler that takes a millisecond a line.
type slowHandler struct{ slog.Handler }

func (slowHandler) Enabled(context.Context, slog.Level) bool { return true }

func (slowHandler) Handle(context.Context, slog.Record) error {
	time.Sleep(time.Millisecond)
	return nil
}

// BenchmarkLost lets 2,000 leases end at one instant, with a log handler that takes a
// millisecond a line. Every context should end within 10 ms of its time.
//
//	late-ms       by how much the last context ended late
//	median-ms     the median of how late the contexts ended
func BenchmarkLost(b *testing.B) {
	const locks = 2000
	masters := redistest.Start(b, masterCount, redistest.Config{})
	b.Run("lib=redquorum/locks=2000", func(b *testing.B) {
		for range b.N {
			late := loseAtOnce(b, masters, locks)
			b.ReportMetric(late[len(late)-1].Seconds()*1e3, "late-ms")
			b.ReportMetric(late[len(late)/2].Seconds()*1e3, "median-ms")
		}
	})
}

// loseAtOnce returns by how much each context ended late, in order.
func loseAtOnce(tb testing.TB, masters *redistest.Cluster, locks int) []time.Duration {
	tb.Helper()
	client, err := redlock.Open(masters.URLs(), redlock.WithLogger(slog.New(slowHandler{})))
	if err != nil {
		tb.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(tb.Context(), connectBound)
	defer cancel()
	if err := (&redquorumPeer{client}).connect(ctx, 0); err != nil {
		tb.Fatal(err)
	}
	late := make([]time.Duration, locks)
	end := time.Now().Add(6 * time.Second)
	var waiting, ended sync.WaitGroup
	for part := range 50 {
		waiting.Go(func() {
			for i := part; i < locks; i += 50 {
				l, err := client.TryLock(ctx, fmt.Sprint("lost:", i), redlock.WithLease(time.Until(end).Truncate(time.Millisecond)))
				if err != nil {
					tb.Error(err)
					return
				}
				ended.Go(func() {
					<-l.Context().Done()
					late[i] = time.Since(l.ValidUntil())
				})
			}
		})
	}
	waiting.Wait()
	if left := time.Until(end); left < time.Second {
		tb.Fatalf("%v are left when all are locked", left)
	}
	ended.Wait()
	slices.Sort(late)
	return late
}

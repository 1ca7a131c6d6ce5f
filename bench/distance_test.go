package bench

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/redlock"
)

// distances are how far the masters are away: there and back, as a ping takes. At the
// greater what the processors do hardly counts: it is for bounds.
var distances = []time.Duration{2 * time.Millisecond, 20 * time.Millisecond}

const (
	distanceSamples = 12
	// settleBefore is how long a lock is held before it is handed over, beside a random
	// part of as much: long enough for whoever waits to have queued up, at a pilot 80 ms
	// away, too.
	settleBefore = 300 * time.Millisecond
	// distanceBound is for one series: a bound against hanging.
	distanceBound = 2 * time.Minute
)

// strictLibrary needs a fleet that is declared by hand.
var strictLibrary = library{"redquorum-strict", func(urls []string) (peer, error) {
	return openRedquorumAt(urls, redlock.GuardStrict)
}}

// BenchmarkDistance measures lock, unlock and hand-over with all masters 2 and 20 ms away,
// in round trips: how long it took, divided by how long a quorum of the masters takes to
// answer a PING from as far. The delay is that of a proxy before each master.
// An operation is a whole series of measurements, whatever -benchtime says.
func BenchmarkDistance(b *testing.B) {
	for _, far := range distances {
		for _, lib := range append(slices.Clone(libraries), strictLibrary) {
			b.Run(fmt.Sprintf("lib=%s/micros=%d", lib.name, far.Microseconds()), func(b *testing.B) {
				if b.N > 1 {
					b.Fatal("a series took less than a second: it is repeated by COUNT")
				}
				urls := distant(b, far)
				pings := make([][]time.Duration, len(urls))
				pingAll(b, urls, pings)
				took := measureDistance(b, lib, urls)
				pingAll(b, urls, pings) // before and after
				trip := quorumTrip(pings)
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(microseconds(trip), "trip-µs")
				for op, d := range took {
					p50, _ := percentiles(d)
					b.ReportMetric(float64(p50)/float64(trip), op+"-rt")
					b.ReportMetric(float64(percentile(d, 90))/float64(trip), op+"-p90-rt")
				}
			})
		}
	}
}

// distant starts masters that are so far away.
func distant(tb testing.TB, far time.Duration) []string {
	tb.Helper()
	urls := redistest.Start(tb, masterCount, redistest.Config{}).URLs()
	for i := range urls {
		u, err := url.Parse(urls[i])
		if err != nil {
			tb.Fatal(err)
		}
		p, err := redistest.NewProxy(u.Host)
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(p.Close)
		p.Delay(far / 2)
		u.Host = p.Addr()
		urls[i] = u.String()
	}
	return urls
}

// pingAll adds to the round trips of every master.
func pingAll(tb testing.TB, urls []string, pings [][]time.Duration) {
	tb.Helper()
	for i, u := range urls {
		func() {
			conn, err := redis.DialURL(u)
			if err != nil {
				tb.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			for range 20 {
				began := time.Now()
				if _, err := conn.Do("PING"); err != nil {
					tb.Fatal(err)
				}
				pings[i] = append(pings[i], time.Since(began))
			}
		}()
	}
}

// quorumTrip is how long a quorum takes to answer: the median of its farthest master.
func quorumTrip(pings [][]time.Duration) time.Duration {
	medians := make([]time.Duration, len(pings))
	for i, p := range pings {
		medians[i], _ = percentiles(slices.Clone(p))
	}
	slices.Sort(medians)
	return medians[len(medians)/2]
}

// measureDistance runs the operations of a library, and says by name how long each took.
func measureDistance(b *testing.B, lib library, urls []string) map[string][]time.Duration {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), distanceBound)
	defer cancel()
	if lib.name == strictLibrary.name {
		client, err := redlock.Open(urls, redlock.WithGuard(redlock.GuardStrict))
		if err != nil {
			b.Fatal(err)
		}
		if err := errors.Join(client.Init(ctx), client.Close()); err != nil {
			b.Fatal(err)
		}
	}
	var peers [2]peer
	for i := range peers {
		p, err := lib.open(urls)
		joins(b, p, err)
		peers[i] = p
	}
	took := make(map[string][]time.Duration)
	w := peers[0].worker("distance:pair")
	for i := range distanceSamples + warmUpPairs {
		began := time.Now()
		err := w.lock(ctx)
		locked := time.Now()
		if err == nil {
			err = w.unlock(ctx)
		}
		if err != nil {
			b.Fatalf("pair %d: %v", i, err)
		}
		if i >= warmUpPairs {
			took["lock"] = append(took["lock"], locked.Sub(began))
			took["unlock"] = append(took["unlock"], time.Since(locked))
		}
	}
	took["hand-over"] = distantHandOvers(ctx, b, peers)
	return took
}

// A held lock is given back by this.
type release func(ctx context.Context) error

// An acquire waits for a lock.
type acquire func(ctx context.Context) (release, error)

// distantHandOvers measures from the call of a release to the return of who waits for it. Each
// is on keys of its own, whose pilots differ, and all are made at the same time: the
// masters are idle.
func distantHandOvers(ctx context.Context, b *testing.B, peers [2]peer) []time.Duration {
	b.Helper()
	took, errs := make([]time.Duration, distanceSamples), make([]error, distanceSamples)
	var wg sync.WaitGroup
	for i := range took {
		key := fmt.Sprintf("distance:hand-over:%d", i)
		duo := [2]acquire{waiting(peers[0].worker(key)), waiting(peers[1].worker(key))}
		// One after the other: so many at once would wait for the processors.
		wait := time.Duration(i) * 40 * time.Millisecond
		wg.Go(func() {
			time.Sleep(wait)
			errs[i] = alternate(ctx, duo, took[i:i+1], settleBefore)
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		b.Fatal(err)
	}
	return took
}

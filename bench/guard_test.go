package bench

import (
	"context"
	"testing"
	"time"

	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/redlock"
)

// What guard levels and fencing tokens cost.
var (
	fenced       = library{"redquorum-fenced", openLevel(redlock.GuardStandard, redlock.WithFencing())}
	strict       = library{"redquorum-strict", openLevel(redlock.GuardStrict)}
	strictFenced = library{"redquorum-strict-fenced", openLevel(redlock.GuardStrict, redlock.WithFencing())}
)

func openLevel(level redlock.GuardLevel, opts ...redlock.Option) func([]string) (peer, error) {
	return func(urls []string) (peer, error) { return openRedquorumAt(urls, level, opts...) }
}

// BenchmarkGuard is BenchmarkLockUnlock by guard level. A fleet has one level, so
// those of strict have masters of their own.
func BenchmarkGuard(b *testing.B) {
	standardFleet := redistest.Start(b, masterCount, redistest.Config{})
	strictFleet := redistest.Start(b, masterCount, redistest.Config{})
	if err := declareStrict(b.Context(), strictFleet.URLs()); err != nil {
		b.Fatal(err)
	}
	for _, goroutines := range []int{1, 256} {
		for _, lib := range []library{libraries[0], unguarded, libraries[1], fenced} {
			benchmarkPairs(b, lib, standardFleet, goroutinesName(goroutines), goroutines)
		}
		for _, lib := range []library{strict, strictFenced} {
			benchmarkPairs(b, lib, strictFleet, goroutinesName(goroutines), goroutines)
		}
	}
}

// declareStrict makes the masters a new strict fleet, which votes at once.
func declareStrict(ctx context.Context, urls []string) error {
	client, err := redlock.Open(urls, redlock.WithGuard(redlock.GuardStrict))
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return client.Init(ctx)
}

package bench

import (
	"fmt"
	"slices"
	"testing"

	"github.com/redquorum/redquorum/internal/redistest"
)

// masterCount is how many masters there are.
const masterCount = 5

// BenchmarkLockUnlock locks and unlocks, a key of its own for every goroutine.
// Where it asks for 1,024 goroutines this process needs 5,120 descriptors; the
// further peers are spared that, and the run their time.
func BenchmarkLockUnlock(b *testing.B) {
	masters := redistest.Start(b, masterCount, redistest.Config{})
	for _, goroutines := range []int{1, 16, 256, 1024} {
		peers := append(slices.Clone(libraries), pipelined)
		if goroutines < 1024 {
			peers = append(peers, redsyncFailFast, redsyncGoRedis, unguarded, singleMaster)
		}
		for _, lib := range peers {
			benchmarkPairs(b, lib, masters, goroutines)
		}
		benchmarkFloor(b, masters, goroutines)
	}
}

// benchmarkPairs measures what the servers do as well.
func benchmarkPairs(b *testing.B, lib library, masters *redistest.Cluster, goroutines int) {
	b.Helper()
	benchmarkPeer(b, lib, masters, goroutines, func(b *testing.B, c *crew) {
		cpu := serverCPU(b, masters)
		c.measure(b)
		cpu = serverCPU(b, masters) - cpu
		b.ReportMetric(microseconds(cpu)/float64(b.N), "server-cpu-µs/op")
	})
}

// benchmarkPeer opens the library, runs one sub-benchmark with a crew of it, and
// closes it before the next one comes. The go command calls a benchmark several
// times to find how many operations it needs; the connections last for all calls.
func benchmarkPeer(b *testing.B, lib library, masters *redistest.Cluster, goroutines int, f func(*testing.B, *crew)) {
	b.Helper()
	benchmarkNamed(b, lib, masters.URLs(), goroutinesName(goroutines), func(b *testing.B, p peer) {
		f(b, newCrew(b, p, lib.name, goroutines))
	})
}

func goroutinesName(n int) string { return fmt.Sprintf("goroutines=%d", n) }

// benchmarkNamed is the part of it that does not depend on a crew. The benchmark
// is named by what it varies, as "masters=7".
func benchmarkNamed(b *testing.B, lib library, urls []string, varied string, f func(*testing.B, peer)) {
	b.Helper()
	p, err := lib.open(urls)
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := p.close(); err != nil {
			b.Errorf("close %s: %v", lib.name, err)
		}
	}()
	b.Run(fmt.Sprintf("lib=%s/%s", lib.name, varied), func(b *testing.B) { f(b, p) })
}

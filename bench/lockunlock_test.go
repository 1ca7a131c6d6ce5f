package bench

import (
	"fmt"
	"slices"
	"testing"

	"github.com/redquorum/redquorum/internal/redistest"
)

const masterCount = 5

// BenchmarkLockUnlock locks and unlocks; every goroutine has its own key. With 1,024
// goroutines redsync needs 5,120 file descriptors. To save time, the further peers do not
// run there.
func BenchmarkLockUnlock(b *testing.B) {
	masters := redistest.Start(b, masterCount, redistest.Config{})
	for _, goroutines := range []int{1, 16, 256, 1024} {
		peers := append(slices.Clone(libraries), pipelined)
		if goroutines < 1024 {
			peers = append(peers, redsyncFailFast, redsyncGoRedis, unguarded, singleMaster, oneDeployment)
		}
		for _, lib := range peers {
			benchmarkPairs(b, lib, masters, goroutinesName(goroutines), goroutines)
		}
		benchmarkFloor(b, masters, goroutines)
	}
}

// BenchmarkOneFrozen is BenchmarkLockUnlock while one of the five masters is suspended
// by SIGSTOP: it keeps its connections and answers nothing. It is suspended after the
// warm-up. So the client does not know it in the first second; later it treats the master
// as down.
//
// redsync is left out, because its first pair would never end. It waits for the answers
// of all masters. It passes its context to the pool but not to the command, so only a
// read timeout of the connection could end the wait, and redigo sets none by default.
// With one, every Lock and Unlock takes that timeout, and nothing else is measured.
func BenchmarkOneFrozen(b *testing.B) {
	masters := redistest.Start(b, masterCount, redistest.Config{})
	for _, goroutines := range []int{1, 16, 256} {
		lib := library{"redquorum", openRedquorum}
		benchmarkCrew(b, lib, masters.URLs(), goroutinesName(goroutines), goroutines, func(c *crew, b *testing.B) {
			frozen := masters.Masters[0] // the first in the list of masters
			if err := frozen.Freeze(); err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() {
				if err := frozen.Thaw(); err != nil {
					b.Error(err)
				}
			})
			c.measure(b)
		})
	}
}

// benchmarkPairs also measures the processor time of the servers.
func benchmarkPairs(b *testing.B, lib library, masters *redistest.Cluster, varied string, goroutines int) {
	b.Helper()
	benchmarkCrew(b, lib, masters.URLs(), varied, goroutines, func(c *crew, b *testing.B) {
		cpu := serverCPU(b, masters)
		c.measure(b)
		cpu = serverCPU(b, masters) - cpu
		b.ReportMetric(microseconds(cpu)/float64(b.N), "server-cpu-µs/op")
	})
}

func goroutinesName(n int) string { return fmt.Sprintf("goroutines=%d", n) }

func benchmarkCrew(b *testing.B, lib library, urls []string, varied string, goroutines int, measure func(*crew, *testing.B)) {
	b.Helper()
	benchmarkPeer(b, lib, urls, varied, func(b *testing.B, p peer) { measure(newCrew(b, p, lib.name, goroutines), b) })
}

// benchmarkPeer opens the library, runs one sub-benchmark, and closes the library. varied
// is what varies, such as "goroutines=16". The go command calls a benchmark several times
// to find how many operations it needs; the connections stay open between the calls.
func benchmarkPeer(b *testing.B, lib library, urls []string, varied string, f func(*testing.B, peer)) {
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

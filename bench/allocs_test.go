package bench

import (
	"runtime"
	"testing"

	"github.com/redquorum/redquorum/internal/redistest"
)

// TestAPairMakesFewAllocations counts those of the whole process, so also what
// connections and renewal do in the background. Counts do not depend on how busy
// the machine is.
func TestAPairMakesFewAllocations(t *testing.T) {
	const pairs, most = 2000, 25
	w := openWorker(t, openRedquorum, redistest.Start(t, masterCount, redistest.Config{}), "allocs")
	run := func(n int) {
		for range n {
			if err := pair(w); err != nil {
				t.Fatal(err)
			}
		}
	}
	run(pairs / 10)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	run(pairs)
	runtime.ReadMemStats(&after)
	if each := float64(after.Mallocs-before.Mallocs) / pairs; each > most {
		t.Errorf("%.1f allocations a pair: want at most %d", each, most)
	} else {
		t.Logf("%.1f allocations, %d bytes a pair", each, (after.TotalAlloc-before.TotalAlloc)/pairs)
	}
}

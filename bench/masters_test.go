package bench

import (
	"fmt"
	"testing"

	"github.com/redquorum/redquorum/internal/redistest"
)

// BenchmarkMasters is BenchmarkLockUnlock at 16 goroutines with more and with
// fewer masters: what each further one costs.
func BenchmarkMasters(b *testing.B) {
	const goroutines = 16
	counts := []int{3, 5, 7, 9}
	for _, n := range counts {
		urls := redistest.Start(b, n, redistest.Config{}).URLs() // a fleet has one number of masters
		for _, lib := range libraries {
			benchmarkNamed(b, lib, urls, fmt.Sprintf("masters=%d", n), func(b *testing.B, p peer) {
				newCrew(b, p, lib.name, goroutines).measure(b)
			})
		}
	}
}

package bench

import (
	"testing"

	"github.com/redquorum/redquorum/internal/redistest"
)

// BenchmarkOneFrozen is BenchmarkLockUnlock while one of the five masters is
// suspended by SIGSTOP: it keeps its connections and answers nothing. It freezes
// after the warm-up, so the first second is what a program lives through while
// it does not know yet, and the rest while the master counts as down.
//
// redsync is left out, because its first pair would never end. It waits for the
// answers of all masters, and hands its context to the pool but not to the
// command, so only a read timeout of the connection could end the wait, and
// redigo has none unless it is asked for; with one, every Lock and every Unlock
// takes as long as that timeout, which would then be the only thing measured.
func BenchmarkOneFrozen(b *testing.B) {
	masters := redistest.Start(b, masterCount, redistest.Config{})
	for _, goroutines := range []int{1, 16, 256} {
		lib := library{"redquorum", openRedquorum}
		benchmarkPeer(b, lib, masters, goroutines, func(b *testing.B, c *crew) {
			frozen := masters.Masters[0] // the one that is asked first
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

package bench

import (
	"testing"

	"github.com/redquorum/redquorum/internal/redistest"
)

// BenchmarkOneFrozen is BenchmarkLockUnlock while one of the five masters is suspended
// by SIGSTOP: it keeps its connections and answers nothing. It freezes after the
// warm-up. So the first second shows a program that does not know it yet, and the rest
// one that counts the master as down.
//
// redsync is left out, because its first pair would never end. It waits for the answers
// of all masters. It hands its context to the pool but not to the command, so only a
// read timeout of the connection could end the wait. redigo sets none by default. With
// one, every Lock and every Unlock takes as long as that timeout, and nothing else
// would be measured.
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

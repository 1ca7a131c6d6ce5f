package main

import (
	"fmt"
	"sync"
	"time"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/words"
	"github.com/redquorum/redquorum/drift"
)

// pauseEvery is how often a pauseWatch looks at the clock.
const pauseEvery = 100 * time.Millisecond

// A pause is for how long this process did not run.
type pause struct {
	stopped time.Duration // for certain: it was stopped, or had no processor
	most    time.Duration // with the time that the machine slept, or its clock was set forward
}

// A pauseWatch notices pauses.
type pauseWatch struct {
	clock drift.Clock

	mu      sync.Mutex // guards what follows
	last    drift.Instant
	longest pause // since forget
}

func newPauseWatch(clock drift.Clock) *pauseWatch {
	return &pauseWatch{clock: clock, last: clock.Now()}
}

// start looks at the clock until the function that it returns is called, which waits
// for its goroutine.
func (w *pauseWatch) start() (stop func()) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		t := time.NewTicker(pauseEvery)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				w.look()
			case <-done:
				return
			}
		}
	})
	return func() {
		close(done)
		wg.Wait()
	}
}

// look gives the longest pause since forget was called, one that has just ended
// included.
func (w *pauseWatch) look() pause {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.clock.Now()
	w.longest.stopped = max(w.longest.stopped, now.MonotonicSub(w.last))
	w.longest.most = max(w.longest.most, now.Sub(w.last))
	w.last = now
	return w.longest
}

// forget is called when pauses up to now have done no harm.
func (w *pauseWatch) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.longest, w.last = pause{}, w.clock.Now()
}

// cost is how a pause cost a lock of this TTL; "": it did not.
func (p pause) cost(ttl time.Duration) string {
	what, lasted := "suspended for "+words.About(p.stopped), p.stopped
	if p.stopped < ttl/2 { // a lock is renewed every third of it
		what, lasted = "the machine was suspended, or its clock set forward, by "+words.About(p.most), p.most
	}
	switch {
	case lasted >= ttl:
		return fmt.Sprintf("%s, longer than the TTL of %s", what, words.About(ttl))
	case lasted >= ttl/2:
		return fmt.Sprintf("%s, too long for the TTL of %s", what, words.About(ttl))
	default:
		return ""
	}
}

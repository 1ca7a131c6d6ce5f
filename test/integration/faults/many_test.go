package faults

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// opMany is a look at all locks of a worker that holds many.
const opMany = "many"

// many takes Count locks and looks at them again and again.
func (j *job) many() {
	const at = 64 // at a time
	locks := make([]*redlock.Lock, j.Count)
	var mu sync.Mutex
	var failed error
	var takers sync.WaitGroup
	for first := range at {
		takers.Go(func() {
			for i := first; i < len(locks) && j.ctx.Err() == nil; i += at {
				l, err := j.lib.TryLock(context.Background(), fmt.Sprint(j.Keys[0], i))
				if err != nil {
					mu.Lock()
					failed = err
					mu.Unlock()
					return
				}
				locks[i] = l
			}
		})
	}
	takers.Wait()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		began := now()
		if j.ctx.Err() != nil {
			return // Close unlocks
		}
		for _, l := range locks {
			if failed == nil && l.Remaining() <= 0 {
				failed = fmt.Errorf("%s: %w", l.Key(), context.Cause(l.Context()))
			}
		}
		j.reportOp(opMany, began, failed)
		select {
		case <-tick.C:
		case <-j.ctx.Done():
			return
		}
	}
}

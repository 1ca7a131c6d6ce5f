package redlock_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Many clients with sets that overlap, and some with single keys: all go on, no
// two of them have the same key, and no wait is out of proportion.
func TestSetsThatOverlapAllTakeTurns(t *testing.T) {
	const clients, keys, hold = 18, 6, time.Millisecond
	inSim(t, 5, func(t *testing.T, s *sim) {
		var holders [keys]atomic.Int32
		var turns [clients]int
		var longest [clients]time.Duration
		ctx, cancel := context.WithTimeout(t.Context(), 600*time.Millisecond)
		defer cancel()
		var wg sync.WaitGroup
		for i := range clients {
			c := s.open()
			set := []int{i % keys, (i + 1) % keys, (i + 3) % keys}[:1+i%3]
			names := make([]string, len(set))
			for n, key := range set {
				names[n] = fmt.Sprint("key", key)
			}
			wg.Go(func() {
				for ctx.Err() == nil {
					began := time.Now()
					l, err := c.LockAll(ctx, names)
					if err != nil {
						return
					}
					longest[i] = max(longest[i], time.Since(began))
					turns[i]++
					for _, key := range set {
						if holders[key].Add(1) != 1 {
							t.Error("two have a key")
						}
					}
					time.Sleep(hold/2 + rand.N(hold))
					for _, key := range set {
						holders[key].Add(-1)
					}
					_ = l.Unlock(t.Context())
					time.Sleep(rand.N(20 * hold))
				}
			})
		}
		wg.Wait()
		t.Logf("turns %v, longest waits %v", turns, longest)
		for i := range clients {
			if turns[i] < 5 || longest[i] > 300*time.Millisecond {
				t.Errorf("client %d had %d turns, and waited for up to %v", i, turns[i], longest[i])
			}
		}
		s.wantClean()
	})
}

package redlock_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// Readers and writers of many clients, downgrades, and masters that freeze and
// die meanwhile: never a writer beside anybody, and everybody gets in.
func TestNoWriterIsEverInsideBesideAnybody(t *testing.T) {
	t.Parallel()
	inSim(t, 5, func(t *testing.T, s *sim) {
		var mu sync.Mutex
		readers, writers, together, entered := 0, 0, 0, 0
		in := func(r, w int) {
			mu.Lock()
			defer mu.Unlock()
			readers += r
			writers += w
			if writers > 1 || writers == 1 && readers > 0 {
				t.Errorf("%d readers and %d writers are in", readers, writers)
			}
			together = max(together, readers)
		}
		// stay is what is done under the lock; what is written must still be
		// ours when it is.
		stay := func(l *redlock.Lock, d time.Duration) {
			time.Sleep(d)
			if l.Remaining() == 0 {
				t.Error("lost with a majority up all the time")
			}
		}
		var wg sync.WaitGroup
		for n := range 8 {
			m := s.open(redlock.WithTTL(time.Second)).RWMutex("key")
			writes := n < 3
			wg.Go(func() {
				for i := range 8 {
					acquire := m.RLock
					if writes {
						acquire = m.Lock
					}
					l, err := acquire(t.Context())
					if err != nil {
						t.Error(err)
						return
					}
					if writes {
						in(0, 1)
						stay(l, 20*time.Millisecond)
						if i%2 == 0 {
							in(1, -1) // the reader from the first byte on
							_ = l.Downgrade(t.Context())
							stay(l, 100*time.Millisecond)
							in(-1, 0)
						} else {
							in(0, -1)
						}
					} else {
						in(1, 0)
						stay(l, 200*time.Millisecond)
						in(-1, 0)
					}
					mu.Lock()
					entered++
					mu.Unlock()
					_ = l.Unlock(context.Background()) // two masters may be away
				}
			})
		}
		withFaults(s, wg.Wait)
		if entered != 64 || together < 2 {
			t.Errorf("entered %d times: want 64; %d readers were in together: want several", entered, together)
		}
		time.Sleep(5 * time.Second)
		s.wantClean()
	})
}

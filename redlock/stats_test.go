package redlock_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

func TestStatsCountWhatIsHeldAndWaitedFor(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open()
		want := func(held, waiting int) {
			t.Helper()
			synctest.Wait()
			if st := c.Stats(); st.Held != held || st.Waiting != waiting || st.Need != 3 || len(st.Masters) != 5 {
				t.Errorf("%+v: want %d held, %d waiting", st, held, waiting)
			}
		}
		want(0, 0)
		l := mustLock(t, c, "key")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		done := make(chan struct{})
		go func() {
			defer close(done)
			if second, err := c.Lock(ctx, "key"); err == nil {
				_ = second.Unlock(t.Context())
			}
		}()
		want(1, 1)
		_ = mustLock(t, c, "other", redlock.WithLease(10*time.Second)).Unlock(t.Context())
		<-done
		want(1, 0)
		if st := c.Stats().Masters[4]; !st.Connected || st.Commands == 0 {
			t.Errorf("%+v", st)
		}
		_ = l.Unlock(t.Context())
		want(0, 0)
	})
}

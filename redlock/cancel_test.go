package redlock_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

func TestAContextThatEndsAnExtensionEndsNothingElse(t *testing.T) {
	inUnguardedCleanSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open(redlock.WithPool(pool.WithCommandTimeout(30*time.Second), pool.WithStallLimit(time.Minute)))
		l := s.lock(c, "key", redlock.WithLease(time.Minute))
		s.Freeze(0, 1, 2)
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error, 1)
		go func() { failed <- l.Extend(ctx) }()
		synctest.Wait() // it is under way
		cancel()
		wantExactly(t, <-failed, redlock.ErrNoQuorum, context.Canceled)
		wantExactly(t, l.Extend(ctx), context.Canceled)
		wantExactly(t, l.Verify(ctx), context.Canceled)
		if l.Context().Err() != nil || l.Remaining() <= 0 {
			t.Errorf("the lock is lost: %v", context.Cause(l.Context()))
		}
		s.Thaw(0, 1, 2)
		if err := l.Extend(t.Context()); err != nil {
			t.Error(err)
		}
		unlock(t, l)
		s.wantFree("key")
	})
}

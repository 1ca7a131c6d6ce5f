package redlocktest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/redlock"
	"github.com/redquorum/redquorum/redlock/redlocktest"
)

// The client is not closed by hand: nothing may be left in the bubble for it.
func TestALockIsHeldForMinutesOfVirtualTime(t *testing.T) {
	began := time.Now()
	synctest.Test(t, func(t *testing.T) {
		c, err := redlocktest.StartInBubble(t, 3).Open()
		if err != nil {
			t.Fatal(err)
		}
		l, err := c.Lock(t.Context(), "key", redlock.WithTTL(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		waited := make(chan error, 1)
		go func() {
			second, err := c.Lock(t.Context(), "key")
			if err == nil {
				err = second.Unlock(context.Background())
			}
			waited <- err
		}()
		time.Sleep(time.Second)
		if l.Remaining() == 0 || l.Context().Err() != nil {
			t.Error("the lock was not renewed")
		}
		if err := errors.Join(l.Unlock(t.Context()), <-waited); err != nil {
			t.Error(err)
		}
	})
	if took := time.Since(began); took > 5*time.Minute {
		t.Errorf("it took %v", took)
	}
}

func TestMastersInABubbleFailAsOthersDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		masters := redlocktest.StartInBubble(t, 3)
		c, err := masters.Open(redlock.WithTTL(time.Second), redlock.WithMaxTTL(time.Second))
		if err != nil {
			t.Fatal(err)
		}
		l, err := c.Lock(t.Context(), "key")
		if err != nil {
			t.Fatal(err)
		}
		masters.Kill(0)
		masters.Freeze(1)
		<-l.Context().Done()
		if cause := context.Cause(l.Context()); !errors.Is(cause, redlock.ErrLost) {
			t.Errorf("%v, want ErrLost", cause)
		}
		masters.Restart(0)
		masters.Thaw(1)
		time.Sleep(time.Minute)
		if l, err = c.TryLock(t.Context(), "key"); err != nil {
			t.Fatal(err)
		}
		if err := l.Unlock(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestOpenReachesMastersOnPortsToo(t *testing.T) {
	c, err := redlocktest.StartCluster(t, 3).Open(redlock.WithTTL(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Do(t.Context(), "key", func(context.Context) error { return nil }); err != nil {
		t.Error(err)
	}
	if _, err := redlocktest.StartCluster(t, 3).Open(redlock.WithTTL(1)); err == nil {
		t.Error("a TTL of 1 ns is accepted")
	}
}

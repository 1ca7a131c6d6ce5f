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

// The test does not close the client, and yet nothing may be left in the bubble.
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

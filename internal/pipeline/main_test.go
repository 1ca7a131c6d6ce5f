package pipeline

import (
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/internal/leftover"
)

// bound is how long the tests wait for what must happen. In a bubble it is
// virtual time, and passes only when nothing else can happen any more.
const bound = 20 * time.Second

// TestMain fails when the tests leave a goroutine behind.
func TestMain(m *testing.M) {
	os.Exit(leftover.Run(m.Run, bound))
}

// inBubble runs a subtest in virtual time.
func inBubble(t *testing.T, name string, test func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

// eventually waits for a condition. It is not for bubbles, where synctest.Wait
// does better.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(bound); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", bound, what)
		}
	}
}

// await receives from a channel that must have something to give, or be closed.
func await[T any](t *testing.T, what string, ch <-chan T) T {
	t.Helper()
	timer := time.NewTimer(bound)
	defer timer.Stop()
	select {
	case v := <-ch:
		return v
	case <-timer.C:
		t.Fatalf("not within %v: %s", bound, what)
		panic("unreachable")
	}
}

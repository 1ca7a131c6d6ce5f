// Package testutil has what tests of many packages share. It imports nothing of ours, so that
// every package's tests may use it; what needs embedded masters is in testutil/masters. Only
// tests import them. Goroutines and LeakCheck find what outlives a test.
package testutil

import (
	"testing"
	"time"
)

// Bound is how long Eventually waits. A test that reaches it has found something broken, not slow.
const Bound = time.Minute

// Eventually waits for a condition, for Bound at most. Then it ends the test and says what it
// waited for. In bubbles synctest.Wait is better. For what would come by itself within Bound, such
// as the expiry of a key, use Within.
func Eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	Within(t, Bound, what, condition)
}

// Within is Eventually with another bound, where the bound is part of the promise.
func Within(t testing.TB, bound time.Duration, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(bound); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", bound, what)
		}
	}
}

// Await receives from a channel, which must have a value, or be closed, within bound. In a bubble
// bound is virtual, and passes only when nothing else can happen before.
func Await[T any](t testing.TB, bound time.Duration, what string, ch <-chan T) T {
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

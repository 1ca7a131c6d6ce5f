package redlock_test

import (
	"context"
	"strings"
	"testing"

	"github.com/redquorum/redquorum/redlock"
)

// callsOf returns the calls of a client that return an error.
func callsOf(c *redlock.Client) map[string]func(ctx context.Context) error {
	of := func(_ *redlock.Lock, err error) error { return err }
	nothing := func(context.Context) error { return nil }
	keys := []string{"k", "l"}
	return map[string]func(ctx context.Context) error{
		"Lock":       func(ctx context.Context) error { return of(c.Lock(ctx, "k")) },
		"TryLock":    func(ctx context.Context) error { return of(c.TryLock(ctx, "k")) },
		"Do":         func(ctx context.Context) error { return c.Do(ctx, "k", nothing) },
		"TryDo":      func(ctx context.Context) error { return c.TryDo(ctx, "k", nothing) },
		"Lead":       func(ctx context.Context) error { return c.Lead(ctx, "k", nothing) },
		"LockAll":    func(ctx context.Context) error { return of(c.LockAll(ctx, keys)) },
		"LockAny":    func(ctx context.Context) error { return of(c.LockAny(ctx, keys)) },
		"Adopt":      func(ctx context.Context) error { return of(c.Adopt(ctx, "k", "token")) },
		"Inspect":    func(ctx context.Context) error { _, err := c.Inspect(ctx, "k"); return err },
		"Ready":      func(ctx context.Context) error { return c.Ready(ctx) },
		"Init":       func(ctx context.Context) error { return c.Init(ctx) },
		"RLock":      func(ctx context.Context) error { return of(c.RWMutex("k").RLock(ctx)) },
		"write lock": func(ctx context.Context) error { return of(c.RWMutex("k").Lock(ctx)) },
		"Acquire":    func(ctx context.Context) error { return of(c.Semaphore("k", 2).Acquire(ctx)) },
		"permit Do":  func(ctx context.Context) error { return c.Semaphore("k", 2).Do(ctx, nothing) },
	}
}

func TestACallWithoutAContextIsAnError(t *testing.T) {
	inSim(t, 3, func(t *testing.T, s *sim) {
		c := s.open()
		for name, call := range callsOf(c) {
			if err := call(nil); err == nil || !strings.Contains(err.Error(), "the context is nil") {
				t.Errorf("%s: %v", name, err)
			}
		}
		l := mustLock(t, c, "k")
		for name, err := range map[string]error{"Extend": l.Extend(nil), "Verify": l.Verify(nil)} { //nolint:staticcheck // the mistake itself
			if err == nil || !strings.Contains(err.Error(), "the context is nil") {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := l.Unlock(nil); err != nil { //nolint:staticcheck // a lock is not kept for it
			t.Errorf("Unlock: %v", err)
		}
		mustLock(t, c, "k")
	})
}

func TestAClientThatWasNotOpenedReturnsErrors(t *testing.T) {
	for kind, c := range map[string]*redlock.Client{"nil": nil, "zero": {}} {
		for name, call := range callsOf(c) {
			if err := call(t.Context()); err == nil || !strings.Contains(err.Error(), "neither by Open nor by New") {
				t.Errorf("%s, %s: %v", kind, name, err)
			}
		}
		if err := c.Close(); err == nil {
			t.Errorf("%s: Close returns nil", kind)
		}
		if reports, stats := c.Masters(), c.Stats(); reports != nil || stats.Need != 0 {
			t.Errorf("%s: %v, %v", kind, reports, stats)
		}
	}
}

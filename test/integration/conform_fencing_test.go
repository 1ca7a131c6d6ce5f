package integration

import (
	"context"
	"testing"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// Redisson's RedissonFencedLockTest.testTokenIncrease (redisson/redisson,
// redisson/src/test/java/org/redisson/RedissonFencedLockTest.java): every way to
// acquire gives a higher token than all before. There they are 1, 2, 3; here they
// only rise, since they start from a clock. See docs/explanation/conformance.md.
func TestTokensIncreaseByEveryWayToAcquire(t *testing.T) {
	p := startProcesses(t, 3)
	p.dropFences()
	c := p.open(redlock.WithFencing(), redlock.WithTTL(longTTL))
	ctx := context.Background()
	last := uint64(0)
	for round := range 2 {
		for name, acquire := range map[string]func() (*redlock.Lock, error){
			"Lock":         func() (*redlock.Lock, error) { return c.Lock(ctx, "lock") },
			"TryLock":      func() (*redlock.Lock, error) { return c.TryLock(ctx, "lock") },
			"with lease":   func() (*redlock.Lock, error) { return c.Lock(ctx, "lock", redlock.WithLease(10*time.Second)) },
			"LockAll":      func() (*redlock.Lock, error) { return c.LockAll(ctx, []string{"lock", "other"}) },
			"writer":       func() (*redlock.Lock, error) { return c.RWMutex("lock").Lock(ctx) },
			"of WithTries": func() (*redlock.Lock, error) { return c.Lock(ctx, "lock", redlock.WithTries(3)) },
		} {
			l, err := acquire()
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			token := l.Fence()
			if token <= last {
				t.Errorf("round %d, %s: token %d after %d", round, name, token, last)
			}
			if err := l.Extend(ctx); err != nil || l.Fence() != token {
				t.Errorf("%s: extended (%v), the token is %d and was %d", name, err, l.Fence(), token)
			}
			last = max(last, token)
			mustUnlock(t, l)
			if l.Fence() != token {
				t.Errorf("%s: unlocked, the token is %d and was %d", name, l.Fence(), token)
			}
			for _, key := range l.Keys() {
				p.wantFree(key)
			}
		}
	}
}

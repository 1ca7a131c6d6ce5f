package integration

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// All masters use more memory than they may. Held locks are renewed for several TTLs, also over
// new connections. Nothing new is granted.
func TestFullMastersKeepHeldLocks(t *testing.T) {
	t.Parallel()
	const ttl = 2 * time.Second
	for name, opts := range map[string][]redlock.Option{
		"plain":               nil,
		"fenced":              {redlock.WithFencing()},
		"strict":              {redlock.WithGuard(redlock.GuardStrict)},
		"strict, with fences": {redlock.WithGuard(redlock.GuardStrict), redlock.WithFencing()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := startProcesses(t, 3)
			p.dropFences()
			c := p.open(append(opts, redlock.WithTTL(ttl), redlock.WithMaxTTL(5*time.Second))...)
			ctx := context.Background()
			must := func(l *redlock.Lock, err error) *redlock.Lock {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
				return l
			}
			if err := c.Ready(ctx); err != nil { // strict: after its quarantine
				t.Fatal(err)
			}
			all := []*redlock.Lock{
				must(c.Lock(ctx, "lock")), must(c.LockAll(ctx, []string{"a", "b"})), must(c.LockAny(ctx, []string{"x", "y"})),
				must(c.RWMutex("read").RLock(ctx)),
			}
			limit := func(maxmemory int) {
				p.each(func(i int) { p.do(i, "CONFIG", "SET", "maxmemory", maxmemory) })
			}
			limit(1)
			held := func(when string) {
				t.Helper()
				for _, l := range all {
					if l.Remaining() == 0 {
						t.Errorf("%s, %q: %v", when, l.Key(), context.Cause(l.Context()))
					}
				}
			}
			time.Sleep(2 * ttl) // renewals
			held("after two TTLs")
			p.each(func(i int) { p.do(i, "CLIENT", "KILL", "TYPE", "normal") })
			time.Sleep(2 * ttl)
			held("over new connections")
			for _, l := range all {
				if err := l.Extend(ctx); err != nil {
					t.Errorf("%q: %v", l.Key(), err)
				}
			}
			if _, err := c.TryLock(ctx, "new"); !errors.Is(err, redlock.ErrNoQuorum) || !strings.Contains(err.Error(), "OOM") {
				t.Errorf("a new lock: %v", err)
			}
			for _, l := range all {
				mustUnlock(t, l)
			}
			limit(0)
			mustUnlock(t, mustTry(t, c, "new"))
		})
	}
}

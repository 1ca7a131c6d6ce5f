package integration

import (
	"context"
	"errors"
	"testing"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/redigo"
	redigolib "github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/redlock"
)

// openRedsync makes a client of another Redlock library on the same masters.
func (p *processes) openRedsync() *redsync.Redsync {
	p.t.Helper()
	var pools []redsyncredis.Pool
	for _, s := range p.servers {
		rp := &redigolib.Pool{
			MaxIdle: 8,
			DialContext: func(ctx context.Context) (redigolib.Conn, error) {
				return redigolib.DialContext(ctx, "tcp", s.Addr())
			},
		}
		p.t.Cleanup(func() { _ = rp.Close() })
		pools = append(pools, redigo.NewPool(rp))
	}
	return redsync.New(pools...)
}

// theirs makes a mutex of redsync that tries once.
func theirs(other *redsync.Redsync, key string, opts ...redsync.Option) *redsync.Mutex {
	return other.NewMutex(key, append([]redsync.Option{redsync.WithExpiry(longTTL), redsync.WithTries(1)}, opts...)...)
}

// mustLockTheirs locks a mutex of redsync that is free.
func mustLockTheirs(t *testing.T, m *redsync.Mutex) {
	t.Helper()
	if err := m.Lock(); err != nil {
		t.Fatalf("redsync's Lock of what is free: %v", err)
	}
}

// mustUnlockTheirs fails if anybody has touched what redsync holds.
func mustUnlockTheirs(t *testing.T, m *redsync.Mutex) {
	t.Helper()
	if ok, err := m.Unlock(); !ok || err != nil {
		t.Errorf("redsync's Unlock: %v, %v", ok, err)
	}
}

// One fleet may use both: a lock of any kind that one library holds is taken for the other.
func TestRedsyncAndRedquorumExcludeEachOther(t *testing.T) {
	p := startProcesses(t, five)
	c, other := p.open(redlock.WithTTL(longTTL)), p.openRedsync()
	ctx := context.Background()
	for name, try := range map[string]func() (*redlock.Lock, error){
		"plain":  func() (*redlock.Lock, error) { return c.TryLock(ctx, "lock") },
		"set":    func() (*redlock.Lock, error) { return c.TryLockAll(ctx, []string{"a", "lock", "z"}) },
		"slot":   func() (*redlock.Lock, error) { return c.TryLockAny(ctx, []string{"lock"}) },
		"writer": func() (*redlock.Lock, error) { return c.RWMutex("lock").TryLock(ctx) },
		"reader": func() (*redlock.Lock, error) { return c.RWMutex("lock").TryRLock(ctx) },
	} {
		t.Run(name, func(t *testing.T) {
			m := theirs(other, "lock")
			mustLockTheirs(t, m)
			eventually(t, "the holder is told", func() bool {
				_, err := try()
				wantExactly(t, "an attempt at what redsync holds", err, redlock.ErrTaken)
				h, ok := errors.AsType[*redlock.Holder](err)
				return ok && h.Token == m.Value() && h.Type == "string" && h.TTL > 0 && h.TTL <= longTTL
			})
			mustUnlockTheirs(t, m)

			l, err := try()
			if err != nil {
				t.Fatal(err)
			}
			for _, key := range l.Keys() {
				err := theirs(other, key).Lock()
				if _, ok := errors.AsType[*redsync.ErrTaken](err); !ok {
					t.Errorf("redsync's Lock of what we hold, %s: %v, want its ErrTaken", key, err)
				}
			}
			if err := l.Verify(ctx); err != nil {
				t.Errorf("our hold after redsync's attempts: %v", err)
			}
			mustUnlock(t, l)
			for _, key := range []string{"a", "lock", "z"} {
				p.wantFree(key)
			}
		})
	}

	// Our token is redsync's value, so we can adopt its hold.
	m := theirs(other, "lock")
	mustLockTheirs(t, m)
	ours, err := c.Adopt(ctx, "lock", m.Value())
	if err != nil {
		t.Fatalf("Adopt of redsync's hold: %v", err)
	}
	mustUnlock(t, ours)
	p.wantFree("lock")

	ours = mustTry(t, c, "lock")
	if ok, err := theirs(other, "lock", redsync.WithValue(strangersToken)).Extend(); ok || err == nil {
		t.Errorf("redsync's Extend of what we hold, with a wrong value: %v, %v", ok, err)
	}
	by := theirs(other, "lock", redsync.WithValue(ours.Token()))
	if ok, err := by.Extend(); !ok || err != nil {
		t.Errorf("redsync's Extend of what we hold, by our token: %v, %v", ok, err)
	}
	mustUnlockTheirs(t, by)
	p.wantFree("lock")
}

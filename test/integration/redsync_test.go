package integration

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

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

// theirs is one of redsync's mutexes that tries once.
func theirs(other *redsync.Redsync, key string, opts ...redsync.Option) *redsync.Mutex {
	return other.NewMutex(key, append([]redsync.Option{redsync.WithExpiry(longTTL), redsync.WithTries(1)}, opts...)...)
}

// mustLockTheirs takes it.
func mustLockTheirs(t *testing.T, m *redsync.Mutex) {
	t.Helper()
	if err := m.Lock(); err != nil {
		t.Fatalf("redsync's Lock of what is free: %v", err)
	}
}

// mustUnlockTheirs asks that nobody have touched what redsync holds.
func mustUnlockTheirs(t *testing.T, m *redsync.Mutex) {
	t.Helper()
	if ok, err := m.Unlock(); !ok || err != nil {
		t.Errorf("redsync's Unlock: %v, %v", ok, err)
	}
}

// One fleet may use both: a lock of any sort that one holds is taken for the other.
func TestALockOfRedsyncIsTakenForUsAndTheOtherWayRound(t *testing.T) {
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
				h, ok := errors.AsType[*redlock.HeldError](err)
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

	// The token is what redsync calls a value: a hold changes hands.
	m := theirs(other, "lock")
	mustLockTheirs(t, m)
	ours, err := c.Adopt(ctx, "lock", m.Value())
	if err != nil {
		t.Fatalf("Adopt of redsync's hold: %v", err)
	}
	mustUnlock(t, ours)
	p.wantFree("lock")
}

// Whoever does not know the other's value neither extends nor releases what the
// other holds.
func TestNobodyExtendsOrReleasesWhatTheOtherHolds(t *testing.T) {
	p := startProcesses(t, five)
	c, other := p.open(), p.openRedsync()
	ctx := context.Background()

	ours := mustTry(t, c, "lock", redlock.WithLease(longTTL))
	stranger := theirs(other, "lock", redsync.WithValue(strangersToken))
	if ok, err := stranger.Extend(); ok || err == nil {
		t.Errorf("redsync's Extend of what we hold: %v, %v", ok, err)
	}
	if ok, err := stranger.Unlock(); ok || err == nil {
		t.Errorf("redsync's Unlock of what we hold: %v, %v", ok, err)
	}
	if err := ours.Verify(ctx); err != nil {
		t.Errorf("our hold after that: %v", err)
	}
	mustUnlock(t, ours)
	p.wantFree("lock")

	held := theirs(other, "lock")
	mustLockTheirs(t, held)
	for i := range five {
		p.do(i, "PEXPIRE", "lock", 30_000)
	}
	_, err := c.Adopt(ctx, "lock", strangersToken, redlock.WithTTL(longTTL))
	wantExactly(t, "Adopt of what redsync holds, with a wrong token", err, redlock.ErrNotHeld)
	for i := range five {
		if v, ms := p.value(i, "lock"), p.pttl(i, "lock"); v != held.Value() || ms > 30_000 {
			t.Errorf("master %d: redsync's key is %q and has %d ms left", i, v, ms)
		}
	}
	mustUnlockTheirs(t, held)
	p.wantFree("lock")
}

// The token is what redsync calls a value: with it the other extends and releases
// the hold, as redsync's TestMutexLockUnlockSplit has it.
func TestRedsyncExtendsAndReleasesOurHoldByItsToken(t *testing.T) {
	p := startProcesses(t, five)
	c, other := p.open(), p.openRedsync()
	ours := mustTry(t, c, "lock", redlock.WithLease(30*time.Second))
	eventually(t, "all have the key", func() bool { return p.holders("lock", ours.Token()) == five })
	by := theirs(other, "lock", redsync.WithValue(ours.Token()))
	if ok, err := by.Extend(); !ok || err != nil {
		t.Errorf("redsync's Extend by our token: %v, %v", ok, err)
	}
	prolonged := 0
	for i := range five {
		if p.pttl(i, "lock") > 30_000 {
			prolonged++
		}
	}
	if prolonged < quorum {
		t.Errorf("%d masters have prolonged it", prolonged)
	}
	mustUnlockTheirs(t, by)
	wantExactly(t, "Verify of what redsync has released", ours.Verify(context.Background()), redlock.ErrLost, redlock.ErrNotHeld)
	wantLost(t, ours, redlock.ReasonExpired)
	p.wantFree("lock")
}

// Locks of every sort contend with redsync for the same keys: whoever is in alone is alone,
// readers but for other readers, and all make progress.
func TestWeAndRedsyncContendAndBothProgress(t *testing.T) {
	const workers, each = 2, 6
	p := startProcesses(t, five)
	other := p.openRedsync()
	pause := func(n int) time.Duration { return time.Duration(n%9+3) * time.Millisecond }
	in := &inside{t: t, keys: map[string]*atomic.Int32{"lock": {}, "beside": {}}}
	var held atomic.Int32
	hold := func(weight int32, keys ...string) {
		in.enter(weight, keys...)
		held.Add(1)
		if _, err := p.command(0, "PING"); err != nil { // for as long as that takes
			t.Error(err)
		}
		in.leave(weight, keys...)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var wg sync.WaitGroup
	for range workers {
		c := p.open(redlock.WithTTL(longTTL), redlock.WithBackoff(pause))
		for _, kind := range []struct {
			weight int32
			lock   func() (*redlock.Lock, error)
		}{
			{exclusive, func() (*redlock.Lock, error) { return c.Lock(ctx, "lock") }},
			{exclusive, func() (*redlock.Lock, error) { return c.LockAll(ctx, []string{"lock", "beside"}) }},
			{exclusive, func() (*redlock.Lock, error) { return c.RWMutex("lock").Lock(ctx) }},
			{1, func() (*redlock.Lock, error) { return c.RWMutex("lock").RLock(ctx) }},
		} {
			wg.Go(func() {
				for range each {
					l, err := kind.lock()
					if err != nil {
						t.Error(err)
						return
					}
					hold(kind.weight, l.Keys()...)
					mustUnlockEither(t, l)
				}
			})
		}
		wg.Go(func() {
			for range each {
				m := theirs(other, "lock", redsync.WithTries(100_000), redsync.WithRetryDelayFunc(pause))
				if err := m.LockContext(ctx); err != nil {
					t.Errorf("redsync: %v", err)
					return
				}
				hold(exclusive, "lock")
				mustUnlockTheirs(t, m)
			}
		})
	}
	wg.Wait()
	if n := held.Load(); n != workers*each*5 {
		t.Errorf("%d holds, want %d", n, workers*each*5)
	}
	p.wantFree("lock")
	p.wantFree("beside")
}

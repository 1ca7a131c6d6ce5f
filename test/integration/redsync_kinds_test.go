package integration

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-redsync/redsync/v4"

	"github.com/redquorum/redquorum/redlock"
)

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

// wantTheirsTaken asks that redsync be kept out.
func wantTheirsTaken(t *testing.T, m *redsync.Mutex, what string) {
	t.Helper()
	err := m.Lock()
	if _, ok := errors.AsType[*redsync.ErrTaken](err); !ok {
		t.Errorf("redsync's Lock of %s: %v, want its ErrTaken", what, err)
	}
}

// mustUnlockTheirs asks that nobody have touched what redsync holds.
func mustUnlockTheirs(t *testing.T, m *redsync.Mutex) {
	t.Helper()
	if ok, err := m.Unlock(); !ok || err != nil {
		t.Errorf("redsync's Unlock: %v, %v", ok, err)
	}
}

// Every sort of lock keeps redsync out, and is kept out by it.
func TestEverySortOfLockAndRedsyncExcludeEachOther(t *testing.T) {
	p := startProcesses(t, five)
	c, other := p.open(redlock.WithTTL(longTTL)), p.openRedsync()
	ctx := context.Background()
	for _, test := range []struct {
		name string
		try  func() (*redlock.Lock, error)
	}{
		{"plain", func() (*redlock.Lock, error) { return c.TryLock(ctx, "lock") }},
		{"set", func() (*redlock.Lock, error) { return c.TryLockAll(ctx, []string{"a", "lock", "z"}) }},
		{"slot", func() (*redlock.Lock, error) { return c.TryLockAny(ctx, []string{"lock"}) }},
		{"writer", func() (*redlock.Lock, error) { return c.RWMutex("lock").TryLock(ctx) }},
		{"reader", func() (*redlock.Lock, error) { return c.RWMutex("lock").TryRLock(ctx) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := theirs(other, "lock")
			mustLockTheirs(t, m)
			_, err := test.try()
			wantExactly(t, "an attempt at what redsync holds", err, redlock.ErrTaken)
			mustUnlockTheirs(t, m)

			l, err := test.try()
			if err != nil {
				t.Fatal(err)
			}
			for _, key := range l.Keys() {
				wantTheirsTaken(t, theirs(other, key), "what we hold: "+key)
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

// Sets, writers and readers contend with redsync for the same keys: whoever is in
// alone is alone, readers but for other readers, and all make progress.
func TestSetsReadersAndRedsyncContendAndAllProgress(t *testing.T) {
	const workers, each = 2, 6
	p := startProcesses(t, five)
	other := p.openRedsync()
	pause := func(n int) time.Duration { return time.Duration(n%9+3) * time.Millisecond }
	const alone = 1000 // what a holder that excludes everybody counts for
	var inside, held atomic.Int32
	hold := func(weight int32) {
		if n := inside.Add(weight); n != alone && (weight == alone || n > alone) {
			t.Errorf("holders of weight %d are in together", n)
		}
		held.Add(1)
		if _, err := p.command(0, "PING"); err != nil { // for as long as that takes
			t.Error(err)
		}
		inside.Add(-weight)
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
			{alone, func() (*redlock.Lock, error) { return c.LockAll(ctx, []string{"lock", "beside"}) }},
			{alone, func() (*redlock.Lock, error) { return c.RWMutex("lock").Lock(ctx) }},
			{1, func() (*redlock.Lock, error) { return c.RWMutex("lock").RLock(ctx) }},
		} {
			wg.Go(func() {
				for range each {
					l, err := kind.lock()
					if err != nil {
						t.Error(err)
						return
					}
					hold(kind.weight)
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
				hold(alone)
				mustUnlockTheirs(t, m)
			}
		})
	}
	wg.Wait()
	if n := held.Load(); n != workers*each*4 {
		t.Errorf("%d holds, want %d", n, workers*each*4)
	}
	p.wantFree("lock")
	p.wantFree("beside")
}

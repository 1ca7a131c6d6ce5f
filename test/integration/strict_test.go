package integration

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/redlock"
)

// A strict fleet on real servers: it votes after its quarantine; clocks of
// masters and of clients that are off are refused and named; a minute's jump that
// is set right after 0.3 s lets nobody in.
func TestAStrictFleetOutlivesItsClocks(t *testing.T) {
	if err := redistest.ClockAvailable(); err != nil {
		t.Skipf("the clocks of redis-servers cannot be moved here: %v", err)
	}
	p := startConfigured(t, redistest.Config{MovableClock: true}, five)
	p.dropFences()
	turn := func(off time.Duration, which ...int) {
		t.Helper()
		for _, i := range which {
			if err := p.servers[i].SetClock(off); err != nil {
				t.Fatal(err)
			}
		}
	}
	fleet := []redlock.Option{redlock.WithGuard(redlock.GuardStrict), redlock.WithMaxTTL(5 * time.Second), redlock.WithTTL(5 * time.Second), redlock.WithFencing()}
	open := func(opts ...redlock.Option) *redlock.Client {
		return p.open(append(fleet[:len(fleet):len(fleet)], opts...)...)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	a, b := open(), open()
	for _, c := range []*redlock.Client{a, b} {
		if err := c.Ready(ctx); err != nil {
			t.Fatal(err)
		}
	}

	for _, off := range []time.Duration{time.Minute, -time.Hour} {
		turn(off, 0, 1)
		mustUnlock(t, mustTry(t, a, "lock"))
		turn(off, 2)
		_, err := a.TryLock(ctx, "lock")
		wantClientOff(t, err, -off)
		turn(0, 0, 1, 2)
	}
	for _, off := range []time.Duration{time.Hour, -time.Hour} {
		_, err := p.openCold(append(fleet[:len(fleet):len(fleet)], redlock.WithClock(offClock{off}))...).TryLock(ctx, "lock")
		if !errors.Is(err, redlock.ErrNoQuorum) {
			t.Errorf("this client's clock is %v off: %v", off, err)
		}
	}

	held := mustTry(t, a, "lock", redlock.WithLease(5*time.Second))
	p.each(func(i int) {
		eventually(t, "every master has it", func() bool { return p.value(i, "lock") == held.Token() })
	})
	turn(time.Minute, 0, 1, 2)
	time.Sleep(300 * time.Millisecond) // the fault itself
	turn(0, 0, 1, 2)
	for _, i := range []int{0, 1, 2} {
		if p.value(i, "lock") != "" {
			t.Fatalf("the jump has not deleted the lock on master %d", i)
		}
	}
	_, err := b.TryLock(ctx, "lock")
	if !errors.Is(err, redlock.ErrTaken) {
		t.Errorf("after the jump: %v", err)
	}
	next, err := b.Lock(ctx, "lock")
	if err != nil {
		t.Fatal(err)
	}
	if held.Remaining() > 0 || next.Fence() <= held.Fence() {
		t.Errorf("the first holds for %v more; token %d after %d", held.Remaining(), next.Fence(), held.Fence())
	}
	mustUnlock(t, next)
}

// wantClientOff fails unless err says that the client's clock is off by so much,
// as a quorum of masters has it.
func wantClientOff(t *testing.T, err error, off time.Duration) {
	t.Helper()
	clock, ok := errors.AsType[*redlock.ClockError](err)
	if !errors.Is(err, redlock.ErrNoQuorum) || !ok || (clock.Off-off).Abs() > 5*time.Second || clock.Masters < 3 {
		t.Errorf("%v: want this client's clock to be %v off", err, off)
	}
}

// The clocks of all masters are behind by what the first client's TTL allows when it is
// granted the lock, and ahead by what the next client's TTL allows when that one asks.
// These differ: a longer TTL allows more.
func TestOfStrictLocksWithDifferentTTLsThereAreNeverTwo(t *testing.T) {
	if err := redistest.ClockAvailable(); err != nil {
		t.Skipf("the clocks of redis-servers cannot be moved here: %v", err)
	}
	p := startConfigured(t, redistest.Config{MovableClock: true}, 3)
	p.dropFences()
	turn := func(off time.Duration) {
		t.Helper()
		for _, s := range p.servers {
			if err := s.SetClock(off); err != nil {
				t.Fatal(err)
			}
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	fleet := []redlock.Option{redlock.WithGuard(redlock.GuardStrict), redlock.WithMaxTTL(5 * time.Second), redlock.WithTTL(5 * time.Second)}
	a, b := p.open(fleet...), p.open(fleet...)
	s := time.Second
	allowed := func(ttl time.Duration) time.Duration { return ttl/10 - 20*time.Millisecond }
	for _, ttls := range [][2]time.Duration{{s, 5 * s}, {2 * s, 5 * s}, {3 * s, 5 * s}, {2 * s, 3 * s}, {5 * s, s}} {
		key := fmt.Sprint(ttls) // a lease of before is not over by a clock that was set back
		turn(-allowed(ttls[0]))
		held := mustTry(t, a, key, redlock.WithLease(ttls[0]))
		until := held.ValidUntil()
		turn(allowed(ttls[1]))
		var next *redlock.Lock
		eventually(t, "the next client has the lock", func() (ok bool) {
			var err error
			next, err = b.TryLock(ctx, key, redlock.WithTTL(ttls[1]))
			return err == nil
		})
		if left := time.Until(until); left > 0 {
			t.Errorf("TTLs of %v and %v: two hold the lock, the first for %v more", ttls[0], ttls[1], left)
		}
		mustUnlock(t, next)
	}
	turn(0)
}

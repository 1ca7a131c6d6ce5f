package integration

import (
	"context"
	"testing"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

func TestAnExpiredLockIsNotExtendedThoughItsKeyIsFree(t *testing.T) {
	p := startProcesses(t, five)
	p.trusting = true // scripts are counted, and the guard's check is one
	c := p.open()
	l := mustTry(t, c, "lock", redlock.WithLease(300*time.Millisecond))
	await(t, settleBound, "the lease ends", l.Context().Done())
	p.wantFree("lock")
	wantExactly(t, "Extend", l.Extend(context.Background()), redlock.ErrLost, redlock.ErrNotHeld)
	wantLost(t, l, redlock.ReasonExpired)
	for i := range five {
		if n := p.calls(i, "evalsha"); n != 0 {
			t.Errorf("master %d was asked to extend", i)
		}
	}
	mustUnlock(t, mustTry(t, c, "lock"))
	p.wantFree("lock")
}

func TestAnExtensionProlongsTheKeyOnEveryMaster(t *testing.T) {
	p := startProcesses(t, five)
	c := p.open()
	l := mustTry(t, c, "lock", redlock.WithLease(longTTL))
	eventually(t, "all have the key", func() bool { return p.holders("lock", l.Token()) == five })
	for i := range five {
		p.do(i, "PEXPIRE", "lock", 30_000)
	}
	before := l.ValidUntil()
	if err := l.Extend(context.Background()); err != nil {
		t.Fatal(err)
	}
	if !l.ValidUntil().After(before) {
		t.Errorf("ValidUntil is %v, was %v", l.ValidUntil(), before)
	}
	eventually(t, "all have the whole TTL again", func() bool {
		all := true
		p.each(func(i int) { all = all && p.pttl(i, "lock") > 50_000 })
		return all
	})
	mustUnlock(t, l)
	p.wantFree("lock")
}

// With a quorum that still holds it, the lock heals: a master that restarted
// empty has the key again, and carries the hold when others go.
func TestALockHealsOnMastersThatRestarted(t *testing.T) {
	p := startProcesses(t, five)
	p.trusting = true
	c := p.open(reconnectSoon())
	ctx := context.Background()
	l := mustTry(t, c, "lock", redlock.WithLease(longTTL))
	eventually(t, "all have the key", func() bool { return p.holders("lock", l.Token()) == five })
	p.kill(0, 1)
	p.restart(0, 1)
	awaitConnected(t, c, 0, 1)
	eventually(t, "the restarted masters have the key again", func() bool {
		if err := l.Extend(ctx); err != nil {
			t.Fatal(err)
		}
		return p.value(0, "lock") == l.Token() && p.value(1, "lock") == l.Token()
	})
	p.kill(3, 4)
	awaitRefused(t, c, 3, 4)
	if err := l.Extend(ctx); err != nil {
		t.Errorf("masters 0, 1 and 2 have the key: %v", err)
	}
	if err := l.Verify(ctx); err != nil {
		t.Errorf("masters 0, 1 and 2 have the key: %v", err)
	}
	mustUnlock(t, l)
	p.wantFree("lock")
}

// Masters that were down when the lock was acquired get the key by an extension,
// and so they have to be told of the release.
func TestMastersThatJoinedByAnExtensionAreReleasedToo(t *testing.T) {
	p := startProcesses(t, five)
	p.trusting = true
	c := p.open(reconnectSoon())
	p.kill(3, 4)
	awaitRefused(t, c, 3, 4)
	l := mustTry(t, c, "lock", redlock.WithLease(longTTL))
	p.restart(3, 4)
	awaitConnected(t, c, 3, 4)
	if err := l.Extend(context.Background()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "all have the key", func() bool { return p.holders("lock", l.Token()) == five })
	mustUnlock(t, l)
	p.wantFree("lock")
}

// Verify looks and changes nothing.
func TestVerifyCountsWithoutSettingAnything(t *testing.T) {
	p := startProcesses(t, five)
	c := p.open()
	ctx := context.Background()
	l := mustTry(t, c, "lock", redlock.WithLease(longTTL))
	eventually(t, "all have the key", func() bool { return p.holders("lock", l.Token()) == five })
	p.do(0, "DEL", "lock")
	p.do(1, "DEL", "lock")
	if err := l.Verify(ctx); err != nil {
		t.Errorf("three have the key: %v", err)
	}
	p.do(2, "SET", "lock", strangersToken)
	wantExactly(t, "Verify", l.Verify(ctx), redlock.ErrLost, redlock.ErrNotHeld)
	wantLost(t, l, redlock.ReasonTaken)
	wantExactly(t, "Unlock", l.Unlock(ctx), redlock.ErrLost, redlock.ErrNotHeld)
	eventually(t, "ours is released, the other's is not", func() bool {
		return p.value(2, "lock") == strangersToken && p.holders("lock", "") == 4
	})
	p.remove("lock")
}

package integration

import (
	"context"
	"testing"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// outageTTL is short enough for the tests to wait for it, and long enough for a
// Docker engine to take its time.
const outageTTL = 4 * time.Second

// Two masters of five are killed: nothing is felt. The third is an outage, and
// one that comes back ends it.
func TestMastersThatAreKilledMidLock(t *testing.T) {
	p := startProcesses(t, five)
	p.trusting = true
	renewed, trace := traceRenewals()
	c := p.openBrisk(trace, reconnectSoon())
	held := mustTry(t, c, "held", redlock.WithTTL(outageTTL))

	p.kill(0, 1)
	lockExtendUnlock(t, c)
	if err := held.Extend(context.Background()); err != nil {
		t.Errorf("Extend with three masters left: %v", err)
	}
	renewed.awaitMore(t, "held", 1)
	if err := held.Context().Err(); err != nil {
		t.Fatalf("lost with three masters left: %v", context.Cause(held.Context()))
	}
	mustUnlock(t, held)

	held = mustTry(t, c, "held", redlock.WithTTL(outageTTL))
	p.kill(2)
	wantOutage(t, &p.masters, c, held, 0, 1, 2)
	p.restart(1)
	wantRecovery(t, &p.masters, c)
	p.restart(0, 2)
	awaitConnected(t, c, 0, 1, 2)
	lockExtendUnlock(t, c)
	p.wantFree("lock")
}

// Whatever the number of masters: just more than half of them are needed.
func TestJustMoreThanHalfOfTheMastersAreNeeded(t *testing.T) {
	for n, spare := range map[int]int{1: 0, 2: 0, 3: 1, 4: 1, 6: 2, 7: 3} {
		p := startProcesses(t, n)
		p.trusting = true
		c := p.open(reconnectSoon())
		for i := range spare {
			p.kill(i)
			awaitRefused(t, c, i)
		}
		l := mustTry(t, c, "lock")
		if err := l.Extend(context.Background()); err != nil {
			t.Errorf("%d masters, %d down: Extend: %v", n, spare, err)
		}
		mustUnlock(t, l)
		p.kill(spare)
		awaitRefused(t, c, spare)
		_, err := c.TryLock(context.Background(), "lock")
		wantExactly(t, "TryLock with half of the masters", err, redlock.ErrNoQuorum)
		p.wantFree("lock")
		closeClient(t, c) // the next client must find no goroutines of this one
	}
}

// Hundreds of locks are renewed side by side; two masters that are killed take
// none of them away.
func TestManyLocksAreKeptWhileTwoMastersAreKilled(t *testing.T) {
	const locks, ttl = 300, 1500 * time.Millisecond
	p := startProcesses(t, five)
	p.trusting = true
	renewed, trace := traceRenewals()
	c := p.open(trace, reconnectSoon())
	var held []*redlock.Lock
	for i := range locks {
		held = append(held, mustTry(t, c, manyKey(i), redlock.WithTTL(ttl)))
	}
	p.kill(1, 3)
	renewed.awaitMore(t, manyKey(0), 8) // more than two TTL
	for _, l := range held {
		if err := l.Context().Err(); err != nil {
			t.Errorf("%s: %v", l.Key(), context.Cause(l.Context()))
		}
		if good, failed := renewed.of(l.Key()); good < 5 || failed > 0 {
			t.Errorf("%s: %d renewals, %d failed, want 8 or so", l.Key(), good, failed)
		}
	}
	for _, l := range held {
		mustUnlock(t, l)
	}
	for i := range locks {
		p.wantFree(manyKey(i))
	}
}

func manyKey(i int) string { return "key " + string(rune('a'+i%26)) + string(rune('a'+i/26)) }

// wantOutage checks three things. Nothing can be locked, and the call says so within
// the masters' timeout, with a cause for each. The context of what is held ends by its
// validity.
func wantOutage(t *testing.T, m *masters, c *redlock.Client, held *redlock.Lock, away ...int) {
	t.Helper()
	began := time.Now()
	var err error
	eventually(t, "an outage is told", func() bool {
		var l *redlock.Lock
		took := timed(func() { l, err = c.TryLock(context.Background(), "lock") })
		if took > defaultTimeout+time.Second {
			t.Errorf("TryLock took %v, want %v and little more", took, defaultTimeout)
		}
		if err == nil { // what was under way when the masters went
			mustUnlock(t, l)
		}
		return err != nil
	})
	wantExactly(t, "TryLock", err, redlock.ErrNoQuorum)
	named := causes(t, err)
	for _, i := range away {
		if named[m.address(i)] == nil {
			t.Errorf("master %d is away and not named: %v", i, err)
		}
	}
	ended := await(t, outageTTL+settleBound, "the context of the holder ends", held.Context().Done())
	if late := ended.Sub(held.ValidUntil()); late > lateness {
		t.Errorf("the context ended %v after the validity", late)
	}
	if held := ended.Sub(began); held > outageTTL+lateness {
		t.Errorf("the context ended %v after the outage began, want at most the TTL of %v", held, outageTTL)
	}
	wantLost(t, held, redlock.ReasonUnreachable)
}

// wantRecovery asks that locks can be had again, and that what was left on
// masters that were away is gone within a TTL.
func wantRecovery(t *testing.T, m *masters, c *redlock.Client) {
	t.Helper()
	eventually(t, "a lock can be had again", func() bool {
		l, err := c.TryLock(context.Background(), "lock")
		if err != nil {
			wantExactly(t, "TryLock", err, redlock.ErrNoQuorum)
			return false
		}
		mustUnlock(t, l)
		return true
	})
	within(t, outageTTL+settleBound, "nothing is left", func() bool { return m.free("held") && m.free("lock") })
}

package integration

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

const (
	rounds = 50
	// defaultTimeout is how long one master is waited for with the default
	// TTL of 10 s.
	defaultTimeout = 250 * time.Millisecond
)

// lockExtendUnlock does so again and again, and tells how long each took.
func lockExtendUnlock(t *testing.T, c *redlock.Client) {
	t.Helper()
	ctx := context.Background()
	var lock, extend, unlock latencies
	for range rounds {
		var l *redlock.Lock
		var err error
		lock = append(lock, timed(func() { l, err = c.TryLock(ctx, "lock") }))
		if err != nil {
			t.Fatal(err)
		}
		extend = append(extend, timed(func() { err = l.Extend(ctx) }))
		if err != nil {
			t.Fatal(err)
		}
		unlock = append(unlock, timed(func() { err = l.Unlock(ctx) }))
		if err != nil {
			t.Fatal(err)
		}
	}
	lock.wantQuorumLatency(t, "lock", defaultTimeout)
	extend.wantQuorumLatency(t, "extend", defaultTimeout)
	unlock.wantQuorumLatency(t, "unlock", defaultTimeout)
}

func TestAMasterThatIsFrozenFromTheStartDoesNotSlowDownLocking(t *testing.T) {
	for _, frozen := range [][]int{{2}, {0, 4}} {
		t.Run(fmt.Sprint(frozen), func(t *testing.T) {
			p := startProcesses(t, five)
			p.trusting = true
			p.freeze(frozen...)
			c := openURLs(t, p.urls)
			eventually(t, "the others are connected", func() bool { return connected(c) == five-len(frozen) })
			lockExtendUnlock(t, c)
			p.thaw(frozen...)
			awaitConnected(t, c, frozen...)
			p.wantFree("lock")
		})
	}
}

func TestAMasterThatFreezesDoesNotSlowDownLocking(t *testing.T) {
	for _, frozen := range [][]int{{0}, {1, 3}} {
		t.Run(fmt.Sprint(frozen), func(t *testing.T) {
			p := startProcesses(t, five)
			p.trusting = true
			// One second, the default, would be over before slow machines are
			// through with what is measured on living connections.
			c := p.openBrisk(redlock.WithPool(pool.WithStallLimit(time.Minute)))
			before := mustTry(t, c, "held before")
			p.freeze(frozen...)
			ctx := context.Background()

			var err error
			first := timed(func() { err = before.Extend(ctx) })
			if err != nil || first > defaultTimeout/2 {
				t.Errorf("the first extension after the freeze took %v (%v)", first, err)
			}
			first = timed(func() { err = before.Unlock(ctx) })
			if err != nil || first > defaultTimeout/2 {
				t.Errorf("the first release after the freeze took %v (%v)", first, err)
			}
			lockExtendUnlock(t, c)

			during := mustTry(t, c, "held after")
			p.thaw(frozen...)
			mustUnlock(t, during)
			lockExtendUnlock(t, c)
			for _, key := range []string{"held before", "held after", "lock"} {
				p.wantFree(key) // long before their TTL has passed
			}
		})
	}
}

func TestAFrozenMasterCostsNothingBeyondTheStallLimit(t *testing.T) {
	p := startProcesses(t, five)
	p.trusting = true
	c := p.openBrisk(reconnectSoon(), redlock.WithPool(pool.WithStallLimit(100*time.Millisecond)))
	p.freeze(1, 2)
	mustUnlock(t, mustTry(t, c, "lock"))
	awaitStalled(t, c, 1, 2)
	lockExtendUnlock(t, c)
	p.thaw(1, 2)
	awaitConnected(t, c, 1, 2)
	p.wantFree("lock")
	p.kill(3, 4) // the thawed ones count again
	awaitRefused(t, c, 3, 4)
	lockExtendUnlock(t, c)
	p.wantFree("lock")
}

func TestThreeFrozenMastersAreAnOutageAndItEnds(t *testing.T) {
	const ttl = 1500 * time.Millisecond
	const timeout = ttl / 20 // of one master
	p := startProcesses(t, five)
	p.trusting = true
	c := p.openBrisk()
	ctx := context.Background()
	l := mustTry(t, c, "held", redlock.WithTTL(ttl))
	p.freeze(0, 1, 2)

	var err error
	took := timed(func() { _, err = c.TryLock(ctx, "other", redlock.WithTTL(ttl)) })
	wantExactly(t, "TryLock", err, redlock.ErrNoQuorum)
	if took > timeout+time.Second {
		t.Errorf("TryLock took %v, want the timeout of %v and little more", took, timeout)
	}
	named := causes(t, err)
	for i := range 3 {
		if cause := named[p.address(i)]; !errors.Is(cause, pool.ErrTimeout) {
			t.Errorf("master %d is frozen, named for %v", i, cause)
		}
	}

	valid := l.Remaining()
	ended := await(t, valid+settleBound, "the context of the holder ends", l.Context().Done())
	if late := ended.Sub(l.ValidUntil()); late > lateness {
		t.Errorf("the context ended %v after the validity", late)
	}
	wantLost(t, l, redlock.ReasonUnreachable)
	wantExactly(t, "Extend", l.Extend(ctx), redlock.ErrLost, redlock.ErrNotHeld)

	awaitStalled(t, c, 0, 1, 2)
	took = timed(func() { _, err = c.TryLock(ctx, "other", redlock.WithTTL(ttl)) })
	wantExactly(t, "TryLock beyond the stall limit", err, redlock.ErrNoQuorum)
	if took > timeout/2+lateness {
		t.Errorf("TryLock beyond the stall limit took %v, want an answer at once", took)
	}

	p.thaw(0, 1, 2)
	awaitConnected(t, c, 0, 1, 2)
	within(t, ttl+time.Second, "no key outlives its TTL", func() bool { return p.free("held") && p.free("other") })
	mustUnlock(t, mustTry(t, c, "held"))
	p.wantFree("held")
}

package integration

import (
	"context"
	"testing"
	"time"

	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

// longTTL is a TTL that no test waits for: a key that is gone earlier was
// released or rolled back.
const longTTL = time.Minute

// A frozen master gets SET and release late, in this order, on one connection.
func TestALateGrantIsReleasedRightBehind(t *testing.T) {
	p := startProcesses(t, five)
	p.trusting = true
	c := p.open(redlock.WithPool(pool.WithStallLimit(time.Minute)))
	p.freeze(3)
	l := mustTry(t, c, "lock", redlock.WithTTL(longTTL))
	mustUnlock(t, l)
	p.thaw(3)
	eventually(t, "the late SET is executed", func() bool { return p.calls(3, "set") == 1 })
	p.wantFree("lock")
	if n := p.calls(3, "del"); n != 1 {
		t.Errorf("the late grant was deleted %d times, want once", n)
	}
}

func TestTheLateGrantsOfAFailedAttemptAreRolledBack(t *testing.T) {
	p := startProcesses(t, five)
	p.trusting = true
	c := p.openBrisk(redlock.WithPool(pool.WithStallLimit(time.Minute)))
	p.freeze(0, 2, 4)
	_, err := c.TryLock(context.Background(), "lock", redlock.WithTTL(longTTL))
	wantExactly(t, "TryLock", err, redlock.ErrNoQuorum)
	p.wantFree("lock") // on the masters that answered
	p.thaw(0, 2, 4)
	for _, i := range []int{0, 2, 4} {
		eventually(t, "the late SET is executed", func() bool { return p.calls(i, "set") == 1 })
	}
	p.wantFree("lock")
}

// Attempts go on while one master is frozen; each late SET meets its own
// rollback, however many there are.
func TestManyLateGrantsLeaveNothing(t *testing.T) {
	p := startProcesses(t, five)
	p.trusting = true
	c := p.open(redlock.WithPool(pool.WithStallLimit(time.Minute)))
	p.freeze(1)
	for range 200 {
		mustUnlock(t, mustTry(t, c, "lock", redlock.WithTTL(longTTL)))
	}
	held := mustTry(t, c, "lock", redlock.WithTTL(longTTL))
	p.thaw(1)
	eventually(t, "the latest token stands on the thawed master", func() bool { return p.value(1, "lock") == held.Token() })
	mustUnlock(t, held)
	p.wantFree("lock")
}

// Frozen beyond the stall limit: the connection is replaced, its last bytes lie
// in the master's socket, and the release comes by another connection.
func TestNoOrphanIsLeftByAConnectionThatWasReplaced(t *testing.T) {
	p := startProcesses(t, five)
	p.trusting = true
	c := p.openBrisk(reconnectSoon(), redlock.WithPool(
		pool.WithStallLimit(100*time.Millisecond), pool.WithDialTimeout(200*time.Millisecond)))
	for range 5 {
		before := p.clientIDs(0)
		p.freeze(0, 1, 2)
		_, err := c.TryLock(context.Background(), "lock", redlock.WithTTL(longTTL))
		wantExactly(t, "TryLock", err, redlock.ErrNoQuorum)
		awaitStalled(t, c, 0, 1, 2)
		p.thaw(0, 1, 2)
		awaitConnected(t, c, 0, 1, 2)
		p.wantFree("lock")
		eventually(t, "the old connection is gone from the master", func() bool {
			for id := range p.clientIDs(0) {
				if before[id] {
					return false
				}
			}
			return true
		})
		mustUnlock(t, mustTry(t, c, "lock", redlock.WithTTL(longTTL)))
		p.wantFree("lock")
	}
}

// A lock that is held while its connections are replaced is released on all
// masters all the same.
func TestAHoldOutlivesTheReplacementOfConnections(t *testing.T) {
	p := startProcesses(t, five)
	p.trusting = true
	c := p.openBrisk(reconnectSoon(), redlock.WithPool(
		pool.WithStallLimit(100*time.Millisecond), pool.WithDialTimeout(200*time.Millisecond)))
	l := mustTry(t, c, "lock", redlock.WithTTL(longTTL))
	eventually(t, "all have the key", func() bool { return p.holders("lock", l.Token()) == five })
	p.freeze(0, 1)
	for range 3 {
		if err := l.Extend(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	awaitStalled(t, c, 0, 1)
	mustUnlock(t, l) // frozen masters keep the key meanwhile
	p.thaw(0, 1)
	p.wantFree("lock")
}

// A client that is closed while masters hang cannot wait for them: then, and
// only then, the TTL is what ends a key.
func TestACloseDuringAFreezeLeavesNothingBeyondATTL(t *testing.T) {
	const ttl = 2 * time.Second
	p := startProcesses(t, five)
	p.trusting = true
	c := p.openBrisk(redlock.WithPool(pool.WithStallLimit(time.Minute)))
	held := mustTry(t, c, "held", redlock.WithTTL(ttl))
	p.freeze(0, 1, 2)
	_, err := c.TryLock(context.Background(), "tried", redlock.WithTTL(ttl))
	wantExactly(t, "TryLock", err, redlock.ErrNoQuorum)
	closeClient(t, c)
	wantLost(t, held, redlock.ReasonClosed)
	p.thaw(0, 1, 2)
	within(t, ttl+time.Second, "no key outlives its TTL", func() bool { return p.free("held") && p.free("tried") })
}

// A master that was down when the lock was released keeps the key on disk. It
// is told as soon as it is back, not left to the TTL.
func TestAReleaseReachesAMasterThatWasDown(t *testing.T) {
	p := startPersistent(t, five)
	p.trusting = true
	c := p.open(reconnectSoon())
	l := mustTry(t, c, "lock", redlock.WithTTL(longTTL))
	eventually(t, "all have the key", func() bool { return p.holders("lock", l.Token()) == five })
	p.kill(1, 4)
	awaitRefused(t, c, 1, 4)
	mustUnlock(t, l)
	p.restart(1, 4)
	p.wantFree("lock")
}

// CLIENT PAUSE is a master that is slow: it grants late, and is told late.
func TestASlowMasterCostsNothingAndItsLateGrantIsReleased(t *testing.T) {
	const pause = 800 * time.Millisecond
	p := startProcesses(t, five)
	c := p.openBrisk()
	p.pauseWrites(2, pause)
	lockExtendUnlock(t, c)
	eventually(t, "the slow master has executed all", func() bool { return p.calls(2, "set") == rounds })
	p.wantFree("lock")
	for i := range 3 {
		p.pauseWrites(i, pause)
	}
	_, err := c.TryLock(context.Background(), "lock", redlock.WithTTL(longTTL))
	wantExactly(t, "TryLock", err, redlock.ErrNoQuorum)
	for i := range 3 {
		p.do(i, "DEL", "any") // waits for the end of the pause
	}
	p.wantFree("lock")
}

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

package integration

import (
	"context"
	"testing"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// In containers masters have addresses of their own, as in a real network: one
// that is gone refuses nothing, its address does not answer.

func TestContainersThatAreKilledMidLock(t *testing.T) {
	m := startContainers(t, five)
	m.trusting = true
	renewed, trace := traceRenewals()
	c := m.openBrisk(trace, reconnectSoon())
	held := mustTry(t, c, "held", redlock.WithTTL(outageTTL))

	m.kill(0, 1)
	lockExtendUnlock(t, c)
	renewed.awaitMore(t, "held", 2)
	if err := held.Context().Err(); err != nil {
		t.Fatalf("lost with three masters left: %v", context.Cause(held.Context()))
	}
	mustUnlock(t, held)

	held = mustTry(t, c, "held", redlock.WithTTL(outageTTL))
	m.kill(2)
	wantOutage(t, &m.masters, c, held, 0, 1, 2)

	m.start(1)
	wantRecovery(t, &m.masters, c)
	m.start(0, 2)
	awaitConnected(t, c, 0, 1, 2)
	lockExtendUnlock(t, c)
}

func TestContainersThatArePausedMidLock(t *testing.T) {
	m := startContainers(t, five)
	renewed, trace := traceRenewals()
	c := m.openBrisk(trace, reconnectSoon())
	held := mustTry(t, c, "held", redlock.WithTTL(outageTTL))

	m.pause(3)
	lockExtendUnlock(t, c)
	renewed.awaitMore(t, "held", 2)
	mustUnlock(t, held)
	m.unpause(3)
	awaitConnected(t, c, 3)
	m.wantFree("lock")
	m.wantFree("held")

	held = mustTry(t, c, "held", redlock.WithTTL(outageTTL))
	m.pause(2, 3, 4)
	wantOutage(t, &m.masters, c, held, 2, 3, 4)
	m.unpause(2, 3, 4)
	wantRecovery(t, &m.masters, c)
}

func TestContainersThatAreCutOffMidLock(t *testing.T) {
	m := startContainers(t, five)
	renewed, trace := traceRenewals()
	c := m.openBrisk(trace, reconnectSoon())
	held := mustTry(t, c, "held", redlock.WithTTL(longTTL), redlock.WithRenewal(redlock.Renewal{Every: 200 * time.Millisecond}))
	eventually(t, "all have the key", func() bool { return m.holders("held", held.Token()) == five })

	m.cut(1)
	lockExtendUnlock(t, c)
	renewed.awaitMore(t, "held", 2)
	awaitStalled(t, c, 1)
	lockExtendUnlock(t, c)
	mustUnlock(t, held)
	m.rejoin(1)
	// It has kept the key, and is told as soon as it can be reached, long
	// before the TTL has passed.
	m.wantFree("held")
	m.wantFree("lock")
	awaitConnected(t, c, 1)
	// The connection before was never closed for the master: nothing of the
	// client's reached it. It is killed, so that nothing on it is executed.
	if ids := m.clientIDs(1); len(ids) != 1 {
		t.Errorf("the master has %d connections of the client after the cut, want 1", len(ids))
	}

	held = mustTry(t, c, "held", redlock.WithTTL(outageTTL))
	m.cut(0, 1, 2)
	wantOutage(t, &m.masters, c, held, 0, 1, 2)
	m.rejoin(0, 1, 2)
	wantRecovery(t, &m.masters, c)
}

package integration

import (
	"context"
	"testing"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// What the tests of pottery ask of a lock (brainix/pottery,
// tests/test_redlock.py). See docs/explanation/conformance.md.

// test_acquire_quorumisimpossible, test_locked_quorumisimpossible,
// test_extend_quorumisimpossible, test_release_quorumisimpossible: with too few
// masters each operation says that, and not that the lock is not held.
func TestEveryOperationSaysThatAQuorumIsImpossible(t *testing.T) {
	p := startPersistent(t, 3)
	c := p.open(reconnectSoon())
	ctx := context.Background()
	l := mustTry(t, c, "printer", redlock.WithLease(longTTL))
	eventually(t, "all have the key", func() bool { return p.holders("printer", l.Token()) == 3 })
	p.kill(1, 2)
	awaitRefused(t, c, 1, 2)
	_, err := c.TryLock(ctx, "another")
	wantExactly(t, "TryLock", err, redlock.ErrNoQuorum)
	wantExactly(t, "Verify", l.Verify(ctx), redlock.ErrNoQuorum)
	wantExactly(t, "Extend", l.Extend(ctx), redlock.ErrNoQuorum)
	if l.Remaining() <= 0 || l.Context().Err() != nil {
		t.Errorf("the hold ended: %v", context.Cause(l.Context()))
	}
	wantExactly(t, "Unlock", l.Unlock(ctx), redlock.ErrNoQuorum)
	// test_release_same_lock_twice.
	wantExactly(t, "Unlock again", l.Unlock(ctx), redlock.ErrNotHeld, redlock.ErrUnlocked)
	p.restart(1, 2)
	p.wantFree("printer")
	p.wantFree("another")
}

// test_acquire_rediserror and the rule behind it: what took as long as the TTL is
// no acquisition, though all masters have granted it.
func TestAnAcquisitionThatTookItsTTLIsNone(t *testing.T) {
	const ttl = 100 * time.Millisecond
	p := startProcesses(t, 3)
	c := p.open() // waits for 5 s if it may
	p.freeze(0, 1, 2)
	var err error
	took := timed(func() { _, err = c.TryLock(context.Background(), "printer", redlock.WithLease(ttl)) })
	wantExactly(t, "TryLock", err, redlock.ErrNoQuorum)
	if took > ttl+lateness {
		t.Errorf("TryLock took %v, and its TTL is %v", took, ttl)
	}
	p.thaw(0, 1, 2) // now the masters grant it, and take it back
	p.wantFree("printer")
}

// test_context_manager_time_out_before_exit: who has outstayed the lock is told.
func TestWhoOutstaysALeaseIsTold(t *testing.T) {
	p := startProcesses(t, 3)
	c := p.open()
	err := c.Do(context.Background(), "printer", func(ctx context.Context) error {
		<-ctx.Done()
		p.wantFree("printer")
		return nil
	}, redlock.WithLease(200*time.Millisecond))
	wantExactly(t, "Do", err, redlock.ErrLost)
}

// test_context_manager_release_before_exit.
func TestWhoUnlocksInsideOfDoIsNotTakenForALoser(t *testing.T) {
	p := startProcesses(t, 3)
	c := p.open()
	err := c.Do(context.Background(), "printer", func(ctx context.Context) error {
		l, _ := redlock.FromContext(ctx)
		return l.Unlock(context.WithoutCancel(ctx))
	})
	if err != nil {
		t.Errorf("Do: %v; there it is an error, here the function's own affair", err)
	}
	p.wantFree("printer")
}

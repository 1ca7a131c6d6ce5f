package integration

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

// A pool that the caller made serves several clients, and outlives them.
func TestClientsMayShareAPool(t *testing.T) {
	p := startProcesses(t, five)
	p.trusting = true
	shared, err := pool.New(p.urls, pool.WithBackoff(time.Millisecond, 20*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for range 2 { // Close may be called again
			if err := shared.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	client := func() *redlock.Client {
		c, err := redlock.New(shared, redlock.WithTTL(longTTL))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { closeClient(t, c) })
		return c
	}
	one, two := client(), client()
	eventually(t, "all masters are connected", func() bool { return connected(one) == five })
	l := mustTry(t, one, "lock")
	_, err = two.TryLock(context.Background(), "lock")
	wantExactly(t, "TryLock of the other client", err, redlock.ErrTaken)
	closeClient(t, one)
	wantLost(t, l, redlock.ReasonClosed)
	mustUnlock(t, mustTry(t, two, "lock"))
	for i, s := range shared.Stats() {
		if !s.Connected || s.Err != nil || s.Epoch != 1 || s.Reconnects != 0 || len(s.RunID) != 40 || s.Commands == 0 || s.RoundTrip <= 0 || s.Name != p.address(i) {
			t.Errorf("Stats of master %d: %+v", i, s)
		}
		if n := len(p.clientIDs(i)); n != 1 {
			t.Errorf("master %d has %d connections of two clients, want one", i, n)
		}
	}

	p.kill(4)
	awaitRefused(t, two, 4)
	if s := shared.Stats()[4]; s.Connected || s.Err == nil {
		t.Errorf("Stats of a master that is down: %+v", s)
	}
	p.restart(4)
	awaitConnected(t, two, 4)
	if s := shared.Stats()[4]; s.Epoch != 2 || s.Reconnects != 1 {
		t.Errorf("Stats of a master that is back: %+v", s)
	}
	for i := range five {
		eventually(t, "nothing is in flight", func() bool { return shared.Stats()[i].InFlight == 0 })
	}

	// Closed too early by its owner: that is told, and nothing hangs.
	if err := shared.Close(); err != nil {
		t.Error(err)
	}
	_, err = two.TryLock(context.Background(), "lock")
	wantExactly(t, "TryLock on a closed pool", err, redlock.ErrNoQuorum)
	if !errors.Is(err, pool.ErrClosed) {
		t.Errorf("TryLock on a closed pool: %v, want pool.ErrClosed as the cause", err)
	}
	p.wantFree("lock")
}

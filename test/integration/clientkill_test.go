package integration

import (
	"context"
	"testing"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// An administrator kills the client's connections while a lock is held. On a
// minority nothing is felt; on all masters what is under way fails, and what
// comes next succeeds. Renewal goes on through it too.
func TestKilledConnectionsAreReplaced(t *testing.T) {
	p := startProcesses(t, five)
	p.trusting = true
	renewed, trace := traceRenewals()
	c := p.open(trace, reconnectSoon())
	ctx := context.Background()
	l := mustTry(t, c, "held", redlock.WithTTL(longTTL))
	kill := func(which ...int) {
		for _, i := range which {
			// The client may not have noticed yet that the one before was killed.
			eventually(t, "the master has a connection to kill", func() bool {
				return p.do(i, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes") != int64(0)
			})
		}
	}
	for n := range 30 {
		awaitConnected(t, c, 0, 1, 2, 3, 4)
		kill(n%five, (n+2)%five)
		if err := l.Extend(ctx); err != nil {
			t.Fatalf("Extend with two connections killed: %v", err)
		}
		mustUnlock(t, mustTry(t, c, "lock", redlock.WithTTL(longTTL)))
		p.wantFree("lock")
	}
	often := mustTry(t, c, "often", redlock.WithTTL(5*time.Second), redlock.WithRenewal(redlock.Renewal{Every: 20 * time.Millisecond}))
	const provenAfter = 400 * time.Millisecond // one that breaks sooner is dialled again after a pause
	for range 10 {
		awaitConnected(t, c, 0, 1, 2, 3, 4)
		time.Sleep(provenAfter)
		kill(0, 1, 2, 3, 4)
		// What was sent on a connection that dies has failed; that is all.
		eventually(t, "the lock is extended", func() bool {
			err := l.Extend(ctx)
			if err != nil {
				wantExactly(t, "Extend", err, redlock.ErrNoQuorum)
			}
			return err == nil
		})
		other, err := c.Lock(ctx, "lock", redlock.WithTTL(longTTL))
		if err != nil {
			t.Fatal(err)
		}
		awaitConnected(t, c, 0, 1, 2, 3, 4)
		time.Sleep(provenAfter)
		kill(0, 1, 2, 3, 4)
		// The release is worth repeating, so it needs no second call.
		if err := other.Unlock(ctx); err != nil {
			t.Errorf("Unlock with all connections killed: %v", err)
		}
		p.wantFree("lock")
		renewed.awaitMore(t, "often", 1)
	}
	for _, l := range []*redlock.Lock{l, often} {
		if err := l.Context().Err(); err != nil {
			t.Errorf("the lock %q was lost: %v", l.Key(), context.Cause(l.Context()))
		}
	}
	awaitConnected(t, c, 0, 1, 2, 3, 4)
	mustUnlock(t, l)
	mustUnlock(t, often)
	p.wantFree("held")
	p.wantFree("often")
}

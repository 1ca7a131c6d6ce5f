package integration

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

func TestTryLockMatchesTakenOrNoQuorumAndNoOthers(t *testing.T) {
	p := startProcesses(t, five)
	p.trusting = true
	c, other := p.open(), p.open(redlock.WithOwner("neighbour"))
	ctx := context.Background()
	l := mustTry(t, other, "lock")
	eventually(t, "all have the key", func() bool { return p.holders("lock", l.Token()) == five })

	var err error
	eventually(t, "the holder is told", func() bool {
		_, err = c.TryLock(ctx, "lock")
		h, ok := errors.AsType[*redlock.HeldError](err)
		return ok && h.Owner == "neighbour" && h.Token == l.Token() && h.Type == "string" && h.TTL > 0 && h.TTL <= 10*time.Second
	})
	wantExactly(t, "TryLock of what is taken", err, redlock.ErrTaken)
	_, err = c.Lock(ctx, "lock", redlock.WithTries(2))
	wantExactly(t, "Lock of what is taken", err, redlock.ErrTaken)
	err = c.Do(ctx, "lock", func(context.Context) error { t.Error("Do ran its function"); return nil }, redlock.WithTries(1))
	wantExactly(t, "Do of what is taken", err, redlock.ErrTaken)

	p.kill(0, 1, 2)
	awaitRefused(t, c, 0, 1, 2)
	awaitRefused(t, other, 0, 1, 2)
	_, err = c.TryLock(ctx, "lock")
	wantExactly(t, "TryLock in an outage", err, redlock.ErrNoQuorum)
	began := time.Now()
	_, err = c.Lock(ctx, "lock")
	wantExactly(t, "Lock in an outage", err, redlock.ErrNoQuorum)
	if took := time.Since(began); took < 2*time.Second || took > 6*time.Second {
		t.Errorf("Lock gave up after %v of outage, want the 3 s of WithOutageWait or little more", took)
	}
	_, err = c.Adopt(ctx, "lock", "some token")
	wantExactly(t, "Adopt in an outage", err, redlock.ErrNoQuorum)
	wantExactly(t, "Unlock in an outage", l.Unlock(ctx), redlock.ErrNoQuorum)
	p.wantFree("lock")
}

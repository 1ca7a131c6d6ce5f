package integration

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// Every row of the rules of errors: what is done to a lock, and exactly which
// sentinels the next operations match.
func TestEveryOperationMatchesItsSentinelsAndNoOthers(t *testing.T) {
	ctx := context.Background()
	unlocked := []error{redlock.ErrNotHeld, redlock.ErrUnlocked}
	lost := []error{redlock.ErrNotHeld, redlock.ErrLost}
	closed := []error{redlock.ErrNotHeld, redlock.ErrLost, redlock.ErrClosed}
	outage := []error{redlock.ErrNoQuorum}

	for _, test := range []struct {
		name    string
		opts    []redlock.LockOption
		happens func(p *processes, c *redlock.Client, l *redlock.Lock)
		// What each operation matches, as the first one after what happened;
		// nil: it succeeds.
		extend, verify, unlock, handOver []error
		// The cause of the lock's context at the end.
		cause []error
	}{
		{
			name:    "held",
			happens: func(*processes, *redlock.Client, *redlock.Lock) {},
			cause:   []error{redlock.ErrUnlocked},
		},
		{
			name: "unlocked",
			happens: func(p *processes, _ *redlock.Client, l *redlock.Lock) {
				mustUnlock(p.t, l)
			},
			extend: unlocked, verify: unlocked, unlock: unlocked, handOver: unlocked,
			cause: []error{redlock.ErrUnlocked},
		},
		{
			name: "handed over",
			happens: func(p *processes, _ *redlock.Client, l *redlock.Lock) {
				if _, err := l.HandOver(); err != nil {
					p.t.Fatal(err)
				}
				p.remove("lock") // as nobody adopts it
			},
			extend: unlocked, verify: unlocked, unlock: unlocked, handOver: unlocked,
			cause: []error{redlock.ErrUnlocked},
		},
		{
			name: "expired",
			opts: []redlock.LockOption{redlock.WithLease(500 * time.Millisecond)},
			happens: func(p *processes, _ *redlock.Client, l *redlock.Lock) {
				eventually(p.t, "the lease is over", func() bool { return l.Remaining() == 0 })
			},
			extend: lost, verify: lost, unlock: lost, handOver: lost,
			cause: []error{redlock.ErrLost},
		},
		{
			name: "flushed from all masters",
			opts: []redlock.LockOption{redlock.WithLease(longTTL)},
			happens: func(p *processes, _ *redlock.Client, _ *redlock.Lock) {
				p.each(func(i int) { p.do(i, "FLUSHALL") })
			},
			// HandOver asks nobody.
			extend: lost, verify: lost, unlock: lost,
		},
		{
			name: "three masters down",
			opts: []redlock.LockOption{redlock.WithLease(longTTL)},
			happens: func(p *processes, c *redlock.Client, _ *redlock.Lock) {
				p.kill(0, 1, 2)
				awaitRefused(p.t, c, 0, 1, 2)
			},
			extend: outage, verify: outage, unlock: outage,
		},
		{
			name: "client closed",
			happens: func(p *processes, c *redlock.Client, _ *redlock.Lock) {
				closeClient(p.t, c)
			},
			extend: closed, verify: closed, unlock: closed, handOver: closed,
			cause: []error{redlock.ErrLost, redlock.ErrClosed},
		},
	} {
		for _, op := range []struct {
			name string
			do   func(l *redlock.Lock) error
			want []error
		}{
			{"Extend", func(l *redlock.Lock) error { return l.Extend(ctx) }, test.extend},
			{"Verify", func(l *redlock.Lock) error { return l.Verify(ctx) }, test.verify},
			{"Unlock", func(l *redlock.Lock) error { return l.Unlock(ctx) }, test.unlock},
			{"HandOver", func(l *redlock.Lock) error { _, err := l.HandOver(); return err }, test.handOver},
		} {
			t.Run(test.name+"/"+op.name, func(t *testing.T) {
				p := startProcesses(t, five)
				p.trusting = true
				c := p.open()
				l := mustTry(t, c, "lock", test.opts...)
				eventually(t, "all have the key", func() bool { return p.holders("lock", l.Token()) == five })
				test.happens(p, c, l)
				err := op.do(l)
				switch {
				case len(op.want) == 0 && err != nil:
					t.Errorf("%v, want success", err)
				case len(op.want) > 0:
					wantExactly(t, op.name, err, op.want...)
				}
				if test.name == "held" && op.name == "HandOver" {
					p.remove("lock") // nobody adopts it
				}
				_ = l.Unlock(ctx) // whatever it says: nothing may be left
				if l.Context().Err() != context.Canceled {
					t.Errorf("Err of the lock's context at the end: %v", l.Context().Err())
				}
				if test.cause != nil {
					wantExactly(t, "cause of the lock's context", context.Cause(l.Context()), test.cause...)
				}
				p.remove("lock") // what was handed over
			})
		}
	}
}

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

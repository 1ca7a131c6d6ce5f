package integration

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// An extension resets the TTL and adds nothing, also where somebody has shortened it.
func TestAnExtensionProlongsTheKeyOnEveryMaster(t *testing.T) {
	for name, extend := range map[string]func(l *redlock.Lock, renewed *renewals){
		"by Extend": func(l *redlock.Lock, _ *renewals) {
			before := l.ValidUntil()
			for range 3 {
				if err := l.Extend(context.Background()); err != nil {
					t.Fatal(err)
				}
			}
			if !l.ValidUntil().After(before) {
				t.Errorf("ValidUntil is %v, was %v", l.ValidUntil(), before)
			}
		},
		"by a renewal": func(_ *redlock.Lock, renewed *renewals) {
			renewed.awaitMore(t, "lock", 2) // the first may have been under way
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := startProcesses(t, five)
			renewed, trace := traceRenewals()
			every := longTTL / 2 // never, as far as the test is concerned
			if name == "by a renewal" {
				every = 200 * time.Millisecond
			}
			l := mustTry(t, p.open(trace), "lock", redlock.WithTTL(longTTL), redlock.WithRenewal(redlock.Renewal{Every: every}))
			eventually(t, "all have the key", func() bool { return p.holders("lock", l.Token()) == five })
			for i := range five {
				p.do(i, "PEXPIRE", "lock", 30_000)
			}
			extend(l, renewed)
			for i := range five {
				eventually(t, "it has the whole TTL again", func() bool { return p.pttl(i, "lock") > 50_000 })
				if ms := p.pttl(i, "lock"); ms > longTTL.Milliseconds() {
					t.Errorf("master %d has it for %d ms, want %v at the most", i, ms, longTTL)
				}
			}
			if left := l.Remaining(); left <= 0 || left > longTTL {
				t.Errorf("%v remaining of %v", left, longTTL)
			}
			mustUnlock(t, l)
			p.wantFree("lock")
		})
	}
}

// Masters that were down when the lock was acquired, or that restarted empty since, get
// the key by an extension. They carry the hold when others go, and have to be told of the
// release.
func TestMastersThatGetTheKeyByAnExtensionCountFromThenOn(t *testing.T) {
	for name, lock := range map[string]func(p *processes, c *redlock.Client) *redlock.Lock{
		"down before": func(p *processes, c *redlock.Client) *redlock.Lock {
			p.kill(0, 1)
			awaitRefused(p.t, c, 0, 1)
			return mustTry(p.t, c, "lock", redlock.WithLease(longTTL))
		},
		"restarted since": func(p *processes, c *redlock.Client) *redlock.Lock {
			l := mustTry(p.t, c, "lock", redlock.WithLease(longTTL))
			eventually(p.t, "all have the key", func() bool { return p.holders("lock", l.Token()) == five })
			p.kill(0, 1)
			return l
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := startProcesses(t, five)
			p.trusting = true
			c := p.open(reconnectSoon())
			ctx := context.Background()
			l := lock(p, c)
			p.restart(0, 1)
			awaitConnected(t, c, 0, 1)
			eventually(t, "all have the key", func() bool {
				if err := l.Extend(ctx); err != nil {
					t.Fatal(err)
				}
				return p.holders("lock", l.Token()) == five
			})
			p.kill(3, 4)
			awaitRefused(t, c, 3, 4)
			if err := errors.Join(l.Extend(ctx), l.Verify(ctx)); err != nil {
				t.Errorf("masters 0, 1 and 2 have the key: %v", err)
			}
			mustUnlock(t, l)
			p.wantFree("lock")
		})
	}
}

// Verify looks and changes nothing.
func TestVerifyCountsWithoutSettingAnything(t *testing.T) {
	p := startProcesses(t, five)
	c := p.open()
	ctx := context.Background()
	l := mustTry(t, c, "lock", redlock.WithLease(longTTL))
	eventually(t, "all have the key", func() bool { return p.holders("lock", l.Token()) == five })
	p.do(0, "DEL", "lock")
	p.do(1, "DEL", "lock")
	if err := l.Verify(ctx); err != nil {
		t.Errorf("three have the key: %v", err)
	}
	p.do(2, "SET", "lock", strangersToken)
	wantExactly(t, "Verify", l.Verify(ctx), redlock.ErrLost, redlock.ErrNotHeld)
	wantLost(t, l, redlock.ReasonTaken)
	wantExactly(t, "Unlock", l.Unlock(ctx), redlock.ErrLost, redlock.ErrNotHeld)
	eventually(t, "ours is released, the other's is not", func() bool {
		return p.value(2, "lock") == strangersToken && p.holders("lock", "") == 4
	})
	p.remove("lock")
}

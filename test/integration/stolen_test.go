package integration

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// renewedOften is a lock that finds out soon what became of it, and that would
// live for long if it did not. Between two renewals there is time to change
// several masters.
var renewedOften = []redlock.LockOption{
	redlock.WithTTL(20 * time.Second),
	redlock.WithRenewal(redlock.Renewal{Every: 400 * time.Millisecond}),
}

// What happens to the keys behind the holder's back, and what renewal makes of
// it.
func TestRenewalNoticesThatAMajorityLostTheKey(t *testing.T) {
	for _, test := range []struct {
		name    string
		happens func(p *processes)
		reason  redlock.Reason
		foreign []int // masters that must keep the stranger's key
	}{
		{"all masters are flushed", func(p *processes) {
			for i := range five {
				p.do(i, "FLUSHALL")
			}
		}, redlock.ReasonExpired, nil},
		{"three masters are flushed", func(p *processes) {
			for i := range 3 {
				p.do(i, "FLUSHALL")
			}
		}, redlock.ReasonExpired, nil},
		{"three keys are taken", func(p *processes) {
			p.foreign("lock", strangersToken, 2, 3, 4)
		}, redlock.ReasonTaken, []int{2, 3, 4}},
		{"two keys are deleted, two taken", func(p *processes) {
			p.do(0, "DEL", "lock")
			p.do(1, "DEL", "lock")
			p.foreign("lock", strangersToken, 2, 3)
		}, redlock.ReasonTaken, []int{2, 3}},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := startProcesses(t, five)
			p.trusting = true
			var told atomic.Int32
			renewed := make(chan struct{}, 100)
			c := p.open(redlock.WithTrace(&redlock.Trace{
				Lost:    func(*redlock.Lock, *redlock.LostError) { told.Add(1) },
				Renewal: func(redlock.RenewalInfo) { renewed <- struct{}{} },
			}))
			l := mustTry(t, c, "lock", renewedOften...)
			eventually(t, "all have the key", func() bool { return p.holders("lock", l.Token()) == five })
			await(t, settleBound, "a renewal", renewed) // the next is a while away
			test.happens(p)
			await(t, settleBound, "the lock is lost", l.Context().Done())
			wantLost(t, l, test.reason)
			// What the last renewal set again is released without an Unlock.
			eventually(t, "nothing of ours is left", func() bool {
				return p.holders("lock", l.Token()) == 0
			})
			ctx := context.Background()
			wantExactly(t, "Extend", l.Extend(ctx), redlock.ErrLost, redlock.ErrNotHeld)
			wantExactly(t, "Verify", l.Verify(ctx), redlock.ErrLost, redlock.ErrNotHeld)
			wantExactly(t, "Unlock", l.Unlock(ctx), redlock.ErrLost, redlock.ErrNotHeld)
			if n := p.holders("lock", l.Token()); n != 0 {
				t.Errorf("%d masters have the token of the lock that is lost", n)
			}
			eventually(t, "Trace.Lost was called", func() bool { return told.Load() > 0 })
			if n := told.Load(); n != 1 {
				t.Errorf("Trace.Lost was called %d times", n)
			}
			for _, i := range test.foreign {
				if v := p.value(i, "lock"); v != strangersToken {
					t.Errorf("master %d: the stranger's key is %q now", i, v)
				}
			}
			p.remove("lock")
		})
	}
}

// A minority may be flushed or taken: the lock goes on, what was flushed is set
// again, what was taken stays the stranger's.
func TestRenewalOutlivesAMinorityThatLostTheKey(t *testing.T) {
	p := startProcesses(t, five)
	p.trusting = true
	renewed, trace := traceRenewals()
	c := p.open(trace)
	l := mustTry(t, c, "lock", renewedOften...)
	eventually(t, "all have the key", func() bool { return p.holders("lock", l.Token()) == five })
	p.do(0, "FLUSHALL")
	p.foreign("lock", strangersToken, 4)
	renewed.awaitMore(t, "lock", 3)
	if v := p.value(0, "lock"); v != l.Token() {
		t.Errorf("the flushed master has %q", v)
	}
	if v := p.value(4, "lock"); v != strangersToken {
		t.Errorf("the stranger's key is %q", v)
	}
	if err := l.Context().Err(); err != nil {
		t.Errorf("the lock is lost: %v", context.Cause(l.Context()))
	}
	mustUnlock(t, l)
	eventually(t, "ours is released", func() bool { return p.holders("lock", "") == 4 })
	if v := p.value(4, "lock"); v != strangersToken {
		t.Errorf("the stranger's key is %q after the release", v)
	}
	p.remove("lock")
}

// The lock was acquired on three masters, for the others had a stranger's key or
// were down: those never had ours. When one of the three loses it, a majority
// certainly has not got it, and all that can be asked has answered: the lock is
// lost, and there is no outage.
func TestUnlockFindsALossAmongTheMastersThatGranted(t *testing.T) {
	for _, test := range []struct {
		name   string
		happen func(p *processes, c *redlock.Client)
	}{
		{"two have a stranger's key", func(p *processes, _ *redlock.Client) {
			p.foreign("lock", strangersToken, 3, 4)
		}},
		{"two are down", func(p *processes, c *redlock.Client) {
			p.kill(3, 4)
			awaitRefused(p.t, c, 3, 4)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := startProcesses(t, five)
			p.trusting = true
			c := p.open(reconnectSoon())
			test.happen(p, c)
			l := mustTry(t, c, "lock", redlock.WithLease(longTTL))
			p.do(0, "DEL", "lock")
			wantExactly(t, "Unlock", l.Unlock(context.Background()), redlock.ErrLost, redlock.ErrNotHeld)
			p.remove("lock")
		})
	}
}

package redlock

import (
	"testing"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/wire"
)

// newTestLock is a held lock of a client without masters, with so much validity
// left, and the moment on both clocks.
func newTestLock(t *testing.T, ttl, left time.Duration) (l *Lock, now time.Duration, instant drift.Instant) {
	t.Helper()
	c, err := Open([]string{"redis://127.0.0.1:1"}, WithTTL(ttl), WithMaxTTL(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	l, err = c.newLock(t.Context(), wire.OpLock, "key", nil)
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	at := func(d time.Duration) drift.Instant { return drift.At(d, d, start.Add(d)) }
	l.validity = ttl - c.opts.drift.Allowance(ttl)
	l.start = at(0)
	elapsed := l.validity - left
	return l, time.Hour + elapsed, at(elapsed)
}

// Failed renewals of many locks are tried again less often each, so that an
// outage leaves time for recovery; but several times within what is left.
func TestRetriesOfManyLocksAreSpread(t *testing.T) {
	for _, test := range []struct {
		held        int64
		left        time.Duration
		least, most time.Duration
	}{
		{1, 20 * time.Second, 125 * time.Millisecond, 250 * time.Millisecond},
		{1000, 20 * time.Second, 125 * time.Millisecond, 250 * time.Millisecond},
		{100_000, 20 * time.Second, time.Second, 2 * time.Second},
		{100_000, 4 * time.Second, 500 * time.Millisecond, time.Second},
		{1_000_000, 20 * time.Second, 2500 * time.Millisecond, 5 * time.Second},
		{1_000_000, time.Second, 125 * time.Millisecond, 250 * time.Millisecond},
		{1_000_000, time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond},
	} {
		l, now, instant := newTestLock(t, 30*time.Second, test.left)
		l.c.keeper.held.Store(test.held)
		l.misses = 1
		for range 100 {
			l.planRenewal(now, instant)
			if d := l.renewAt - now; d < test.least || d > test.most {
				t.Errorf("%d held, %v left: tried again after %v, want %v to %v", test.held, test.left, d, test.least, test.most)
				break
			}
		}
	}
}

// A renewal starts between nine tenths of its interval and its end, on the grid.
func TestRenewalsStartOnAGridWithinTheirJitter(t *testing.T) {
	for _, ttl := range []time.Duration{20 * time.Millisecond, 60 * time.Millisecond, time.Second, 30 * time.Second, time.Hour} {
		l, now, instant := newTestLock(t, ttl, ttl*9/10)
		start, every := now-instant.Sub(l.start), ttl/3
		seen := make(map[time.Duration]bool)
		for range 1000 {
			l.planRenewal(now, instant)
			if d := l.renewAt - start; d < every-every/10 || d > every {
				t.Errorf("TTL %v: renewed after %v", ttl, d)
			}
			if off := l.renewAt % slack(every); off != 0 {
				t.Errorf("TTL %v: %v off the grid of %v", ttl, off, slack(every))
			}
			seen[l.renewAt] = true
		}
		if len(seen) < 2 {
			t.Errorf("TTL %v: no jitter", ttl)
		}
	}
}

// A lone renewal has the masters' timeout; one behind many has longer, but no
// more than leaves time for others.
func TestARenewalBehindManyOthersWaitsLonger(t *testing.T) {
	for _, test := range []struct {
		underWay   int
		left, want time.Duration
	}{
		{1, 20 * time.Second, 250 * time.Millisecond},
		{500, 20 * time.Second, 250 * time.Millisecond},
		{4096, 20 * time.Second, 2048 * time.Millisecond},
		{4096, 4 * time.Second, time.Second},
		{4096, 400 * time.Millisecond, 250 * time.Millisecond},
		{4096, 100 * time.Millisecond, 100 * time.Millisecond},
	} {
		l, _, _ := newTestLock(t, 30*time.Second, test.left)
		k := newKeeper(l.c)
		k.underWay = test.underWay
		if got := k.patience(l, test.left); got != test.want {
			t.Errorf("%d under way, %v left: waits for %v, want %v", test.underWay, test.left, got, test.want)
		}
	}
}

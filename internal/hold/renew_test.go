package hold

import (
	"testing"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/wire"
)

// newTestHold returns a hold with so much validity left, of a client whose masters cannot be
// reached, and the present moment on both clocks.
func newTestHold(t *testing.T, ttl, left time.Duration) (h *Hold, now time.Duration, instant drift.Instant) {
	t.Helper()
	manager := alone(t, drift.System())
	manager.cfg.Validity = func(ttl time.Duration) time.Duration { return drift.Default.Validity(ttl, 0) }
	h = newLease(manager, ttl)
	h.opts = &Options{}
	start := time.Now()
	at := func(d time.Duration) drift.Instant { return drift.At(d, d, start.Add(d)) }
	h.life = life{state: held, start: at(0), validity: manager.cfg.Validity(ttl)}
	elapsed := h.life.validity - left
	return h, time.Hour + elapsed, at(elapsed)
}

// With many locks, each failed renewal is retried less often, so that an outage leaves time
// for recovery. It is still retried several times within the validity that is left.
func TestFailedRenewalsOfManyHoldsAreSpreadOut(t *testing.T) {
	for _, test := range []struct {
		held        int64
		left        time.Duration
		least, most time.Duration
	}{
		{1, 20 * time.Second, 125 * time.Millisecond, 250 * time.Millisecond},
		{100_000, 20 * time.Second, time.Second, 2 * time.Second},
		{1_000_000, 20 * time.Second, 2500 * time.Millisecond, 5 * time.Second},
		{1_000_000, time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond},
	} {
		h, now, instant := newTestHold(t, 30*time.Second, test.left)
		h.manager.renewer.held.Store(test.held)
		h.renewal.failed = 1
		for range 100 {
			h.planRenewal(now, instant)
			if d := h.renewal.nextAt - now; d < test.least || d > test.most {
				t.Errorf("%d held, %v left: tried again after %v, want %v to %v", test.held, test.left, d, test.least, test.most)
				break
			}
		}
	}
}

// A renewal starts between nine tenths of its interval and its end, on the grid.
func TestRenewalsStartOnAGridWithinTheirJitter(t *testing.T) {
	for _, ttl := range []time.Duration{20 * time.Millisecond, time.Hour} {
		h, now, instant := newTestHold(t, ttl, ttl*8/10)
		start, every := now-instant.Sub(h.life.start), h.life.validity/3
		seen := make(map[time.Duration]bool)
		for range 1000 {
			h.planRenewal(now, instant)
			if d := h.renewal.nextAt - start; d < every-every/10 || d > every {
				t.Errorf("TTL %v: renewed after %v", ttl, d)
			}
			if grid := min(10*time.Millisecond, every/32); h.renewal.nextAt%grid != 0 {
				t.Errorf("TTL %v: %v off the grid of %v", ttl, h.renewal.nextAt%grid, grid)
			}
			seen[h.renewal.nextAt] = true
		}
		if len(seen) < 2 {
			t.Errorf("TTL %v: no jitter", ttl)
		}
	}
}

// If a renewal waited only for the command timeout, it would fail whenever every answer comes
// later. If it waited for all that is left, it would be the last one.
func TestARenewalWaitsForAQuarterOfTheValidityThatIsLeft(t *testing.T) {
	for _, test := range []struct{ left, want time.Duration }{
		{20 * time.Second, 5 * time.Second},
		{400 * time.Millisecond, 250 * time.Millisecond},
		{100 * time.Millisecond, 100 * time.Millisecond},
	} {
		h, _, _ := newTestHold(t, 30*time.Second, test.left)
		if got := h.patience(test.left); got != test.want {
			t.Errorf("%v left: waits for %v, want %v", test.left, got, test.want)
		}
	}
}

// No renewal is planned beyond the bounds in the options.
func TestNoRenewalIsPlannedBeyondItsBounds(t *testing.T) {
	for name, test := range map[string]struct {
		opts  Options
		count int
		want  bool // a renewal is planned
	}{
		"no bound":               {Options{}, 1000, true},
		"a lease":                {Options{Fixed: true}, 0, false},
		"one of two renewals":    {Options{MaxCount: 2}, 1, true},
		"both of two renewals":   {Options{MaxCount: 2}, 2, false},
		"well within MaxHold":    {Options{MaxHold: time.Hour}, 0, true},
		"the next is after that": {Options{MaxHold: 4 * time.Second}, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			h, now, instant := newTestHold(t, 30*time.Second, 29*time.Second)
			h.acquired, h.opts, h.renewal.count = h.life.start, &test.opts, test.count
			h.planRenewal(now, instant)
			if planned := h.renewal.nextAt != never; planned != test.want {
				t.Errorf("a renewal is planned: %v, want %v", planned, test.want)
			}
		})
	}
}

// Two extensions may be under way. The one that began first may be concluded last (S6).
func TestAnExtensionThatBeganEarlierShortensNoHold(t *testing.T) {
	h, _, now := newTestHold(t, 30*time.Second, 10*time.Second)
	held := time.Now()
	at := func(d time.Duration) drift.Instant { return drift.At(d, d, held.Add(d)) }
	conclude := func(began time.Duration) time.Duration {
		ask := &wire.Ask{TTL: 30 * time.Second}
		ask.Start = at(began)
		if f := h.conclude(ask, &wire.Result{Outcome: quorum.Granted}, nil, now); f != nil {
			t.Fatalf("an extension that was granted: %+v", f)
		}
		return h.life.remaining(now)
	}
	later := conclude(15 * time.Second)
	if later <= 10*time.Second {
		t.Fatalf("an extension left %v", later)
	}
	if left := conclude(5 * time.Second); left != later {
		t.Errorf("an earlier extension left %v, want %v", left, later)
	}
}

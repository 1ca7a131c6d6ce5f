package integration

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redquorum/redquorum/internal/testutil"
	"github.com/redquorum/redquorum/redlock"
)

// A lock whose renewals are never answered must not delay the ends of other locks' contexts.
func TestAnUnansweredRenewalDoesNotDelayOtherLocks(t *testing.T) {
	p := startProcesses(t, five)
	p.trusting = true
	var failed atomic.Int32 // renewals of the other one
	c := p.openBrisk(redlock.WithTrace(&redlock.Trace{Renewal: func(info redlock.ExtendInfo) {
		if info.Err != nil && info.Key == "long" {
			failed.Add(1)
		}
	}}))
	long := mustLock(t, c, "long", redlock.WithTTL(2*time.Second), redlock.WithRenewal(redlock.Renewal{Every: 50 * time.Millisecond}))
	lease := mustLock(t, c, "lease", redlock.WithLease(900*time.Millisecond))
	p.freeze(0, 1, 2)
	testutil.Await(t, settleBound, "the lease ends", lease.Context().Done())
	ended := time.Now()
	if late := ended.Sub(lease.ValidUntil()); late > lateness {
		t.Errorf("the context of the lease ended %v after its validity", late)
	}
	if failed.Load() == 0 {
		t.Error("no renewal has failed while the lease ran")
	}
	p.thaw(0, 1, 2)
	eventually(t, "the long one is renewed again", func() bool { return long.Extend(context.Background()) == nil })
	mustUnlock(t, long)
	p.wantFree("long")
	p.wantFree("lease")
}

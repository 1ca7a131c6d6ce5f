package integration

import (
	"context"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redquorum/redquorum/internal/testutil"
	"github.com/redquorum/redquorum/redlock"
)

// renewals counts what Trace tells of them.
type renewals struct {
	mu     sync.Mutex // guards what follows
	good   map[string]int
	failed map[string]int
}

func traceRenewals() (*renewals, redlock.Option) {
	r := &renewals{good: map[string]int{}, failed: map[string]int{}}
	return r, redlock.WithTrace(&redlock.Trace{Renewal: func(info redlock.ExtendInfo) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if info.Err == nil {
			r.good[info.Key]++
		} else {
			r.failed[info.Key]++
		}
	}})
}

func (r *renewals) of(key string) (good, failed int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.good[key], r.failed[key]
}

// awaitMore waits until a key was renewed n times more: so much time has
// passed, and the renewer is at work.
func (r *renewals) awaitMore(t *testing.T, key string, n int) {
	t.Helper()
	before, _ := r.of(key)
	eventually(t, "renewals of "+key, func() bool { good, _ := r.of(key); return good >= before+n })
}

// One lock whose renewal is not answered, again and again, must not keep the
// others waiting for the end of their contexts.
func TestAnUnansweredRenewalDoesNotDelayOtherLocks(t *testing.T) {
	p := startProcesses(t, five)
	p.trusting = true
	renewed, trace := traceRenewals()
	c := p.openBrisk(trace)
	long := mustTry(t, c, "long", redlock.WithTTL(2*time.Second), redlock.WithRenewal(redlock.Renewal{Every: 50 * time.Millisecond}))
	lease := mustTry(t, c, "lease", redlock.WithLease(900*time.Millisecond))
	p.freeze(0, 1, 2)
	testutil.Await(t, settleBound, "the lease ends", lease.Context().Done())
	ended := time.Now()
	if late := ended.Sub(lease.ValidUntil()); late > lateness {
		t.Errorf("the context of the lease ended %v after its validity", late)
	}
	if _, failed := renewed.of("long"); failed == 0 {
		t.Error("no renewal has failed while the lease ran")
	}
	p.thaw(0, 1, 2)
	eventually(t, "the long one is renewed again", func() bool { return long.Extend(context.Background()) == nil })
	mustUnlock(t, long)
	p.wantFree("long")
	p.wantFree("lease")
}

// While masters keep it waiting a client rests: it uses a fraction of one
// processor.
func TestWaitingForFrozenMastersCostsNoProcessorTime(t *testing.T) {
	p := startProcesses(t, five)
	p.trusting = true
	renewed, trace := traceRenewals()
	c := p.openBrisk(trace)
	l := mustTry(t, c, "lock", redlock.WithTTL(2*time.Second), redlock.WithRenewal(redlock.Renewal{Every: 100 * time.Millisecond}))
	renewed.awaitMore(t, "lock", 1)
	p.freeze(0, 1, 2)
	began, used := time.Now(), processorTime(t)
	testutil.Await(t, settleBound, "the lock is lost", l.Context().Done())
	passed := time.Since(began)
	if used = processorTime(t) - used; used > passed/2 {
		t.Errorf("%v of processor time in %v of waiting", used, passed)
	}
	wantLost(t, l, redlock.ReasonUnreachable)
	p.thaw(0, 1, 2)
	p.wantFree("lock")
}

// processorTime is what this process has used so far, on all processors.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

package integration

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

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
	return r, redlock.WithTrace(&redlock.Trace{Renewal: func(info redlock.RenewalInfo) {
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

func (r *renewals) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.good)
	clear(r.failed)
}

// awaitMore waits until a key was renewed n times more: so much time has
// passed, and the keeper is at work.
func (r *renewals) awaitMore(t *testing.T, key string, n int) {
	t.Helper()
	before, _ := r.of(key)
	eventually(t, "renewals of "+key, func() bool { good, _ := r.of(key); return good >= before+n })
}

// passingTime are the options of a lock that is renewed beside the one that a test
// is about: that it was, again and again, shows that time has passed and that the
// keeper is at work.
var passingTime = []redlock.LockOption{
	redlock.WithTTL(10 * time.Second),
	redlock.WithRenewal(redlock.Renewal{Every: 40 * time.Millisecond}),
}

// A TTL of 300 ms leaves a renewal 200 ms at most. On a machine that stands still
// for that long the lock is rightly lost, and nothing is proved: then it is tried
// again.
func TestRenewalKeepsALockForManyTimesItsTTL(t *testing.T) {
	const ttl = 300 * time.Millisecond
	p := startProcesses(t, five)
	renewed, trace := traceRenewals()
	c := p.open(trace)
	for try := 1; ; try++ {
		still := meterStandstills()
		lost := keepFor(p, c, 6*ttl, ttl)
		longest := still.stop()
		if lost == nil {
			break
		}
		if longest < ttl/6 || try == 5 {
			t.Fatalf("%v (the machine stood still for %v)", lost, longest)
		}
		t.Logf("tried again, for the machine stood still for %v: %v", longest, lost)
		renewed.forget()
	}
	// Every 100 ms at the least; half of it would be enough to keep the lock.
	if good, _ := renewed.of("lock"); good < 9 {
		t.Errorf("%d renewals in 6 times the TTL: want 18 or so", good)
	}
	p.wantFree("lock")
}

// keepFor holds a lock for a while, and says when it was not kept.
func keepFor(p *processes, c *redlock.Client, while, ttl time.Duration) error {
	p.t.Helper()
	l := mustTry(p.t, c, "lock", redlock.WithTTL(ttl))
	for passed, began := time.Duration(0), time.Now(); passed < while; passed = time.Since(began) {
		n := p.holders("lock", l.Token())
		if err := l.Context().Err(); err != nil {
			return fmt.Errorf("after %v: %w", passed, context.Cause(l.Context()))
		}
		if n < quorum || l.Remaining() <= 0 {
			return fmt.Errorf("after %v the token stands on %d masters, %v remaining", passed, n, l.Remaining())
		}
	}
	return l.Unlock(context.Background())
}

// One lock whose renewal is not answered, again and again, must not keep the
// others waiting for the end of their contexts.
func TestAnUnansweredRenewalDoesNotDelayOtherLocks(t *testing.T) {
	p := startProcesses(t, five)
	p.trusting = true
	renewed, trace := traceRenewals()
	c := p.openBrisk(trace)
	long := mustTry(t, c, "long", redlock.WithTTL(5*time.Second), redlock.WithRenewal(redlock.Renewal{Every: 50 * time.Millisecond}))
	lease := mustTry(t, c, "lease", redlock.WithLease(900*time.Millisecond))
	p.freeze(0, 1, 2)
	ended := await(t, settleBound, "the lease ends", lease.Context().Done())
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
	await(t, settleBound, "the lock is lost", l.Context().Done())
	passed := time.Since(began)
	if used = processorTime(t) - used; used > passed/2 {
		t.Errorf("%v of processor time in %v of waiting", used, passed)
	}
	wantLost(t, l, redlock.ReasonUnreachable)
	p.thaw(0, 1, 2)
	p.wantFree("lock")
}

// After Unlock has begun, nothing renews: neither what was planned, nor what
// is under way, nor the fallback of a script that a master has forgotten.
func TestNothingRenewsALockThatIsUnlocked(t *testing.T) {
	p := startProcesses(t, five)
	renewed, trace := traceRenewals()
	c := p.open(trace)
	other := mustTry(t, c, "other", passingTime...)
	watched := p.monitor(0)
	for n := range 40 {
		l := mustTry(t, c, "lock", redlock.WithTTL(10*time.Second), redlock.WithRenewal(redlock.Renewal{Every: 5 * time.Millisecond}))
		renewed.awaitMore(t, "lock", 1+n%3)
		if n%10 == 9 {
			for i := range five {
				p.do(i, "SCRIPT", "FLUSH")
			}
		}
		mustUnlock(t, l)
		token := l.Token()
		p.wantFree("lock")
		if n%10 == 9 {
			renewed.awaitMore(t, "other", 2) // time for what must not come
			p.wantFree("lock")
		}
		watched.wantLast(t, token, func(command []string) bool {
			// The release: EVALSHA or EVAL with one key and the token alone, or
			// the one that the pilot gets.
			return len(command) == 5 || slices.Contains(command, "release")
		})
	}
	watched.stop()
	mustUnlock(t, other)
}

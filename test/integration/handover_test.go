package integration

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// Between processes, as an upgrade of a running program would do it.
func TestAHoldIsHandedFromOneProcessToAnother(t *testing.T) {
	p := startProcesses(t, five)
	p.trusting = true
	c := p.open()
	ctx := context.Background()
	const ttl = 2 * time.Second
	worker := startChild(t, "holder")

	l := mustTry(t, c, "lock", redlock.WithTTL(ttl))
	token, err := l.HandOver()
	if err != nil {
		t.Fatal(err)
	}
	if r := worker.tell(order{Do: "adopt", URLs: p.urls, Key: "lock", Token: token, TTL: time.Second}); r.Failed != "" || r.Token != token {
		t.Fatalf("the child's adoption: %+v", r)
	}
	for began := time.Now(); time.Since(began) < ttl+time.Second; { // renewed from there
		_, err := c.TryLock(ctx, "lock")
		if !matchesExactly(err, redlock.ErrTaken) {
			t.Fatalf("TryLock while the child holds the lock: %v", err)
		}
	}
	if r := worker.tell(order{Do: "adopt", Key: "lock", Token: "wrong", TTL: ttl}); !slices.Equal(r.Is, []string{redlock.ErrNotHeld.Error()}) {
		t.Errorf("the child's adoption with a wrong token: %+v", r)
	}

	// And back, from a process that hands over and is gone.
	second := startChild(t, "holder")
	if r := second.tell(order{Do: "lock", URLs: p.urls, Key: "other", TTL: ttl}); r.Failed != "" {
		t.Fatalf("the child's lock: %+v", r)
	}
	r := second.tell(order{Do: "hand over"})
	if r.Failed != "" {
		t.Fatalf("the child's hand-over: %+v", r)
	}
	second.kill()
	back, err := c.Adopt(ctx, "other", r.Token, redlock.WithTTL(ttl))
	if err != nil {
		t.Fatal(err)
	}
	mustUnlock(t, back)
	p.wantFree("other")
}

// Renewals of the one who hands over are under way all the time: none of them
// may set the key again behind the release by the one who adopts.
func TestAHandOverInTheMiddleOfRenewalsLeavesNothing(t *testing.T) {
	p := startProcesses(t, five)
	renewed, trace := traceRenewals()
	giver, taker := p.open(trace), p.open()
	for n := range 60 {
		given := mustTry(t, giver, "lock", redlock.WithTTL(longTTL), redlock.WithRenewal(redlock.Renewal{Every: 5 * time.Millisecond}))
		renewed.awaitMore(t, "lock", 1+n%3)
		token, err := given.HandOver()
		if err != nil {
			t.Fatal(err)
		}
		taken, err := taker.Adopt(context.Background(), "lock", token, redlock.WithTTL(longTTL))
		if err != nil {
			t.Fatal(err)
		}
		mustUnlock(t, taken)
		p.wantFree("lock")
	}
	p.wantFree("lock")
}

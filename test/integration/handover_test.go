package integration

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

func TestAHoldIsHandedFromOneClientToAnother(t *testing.T) {
	p := startProcesses(t, five)
	renewed, trace := traceRenewals()
	giver, taker, third := p.open(), p.open(trace), p.open()
	ctx := context.Background()
	given := mustTry(t, giver, "lock", redlock.WithTTL(2*time.Second), redlock.WithRenewal(redlock.Renewal{Every: 20 * time.Millisecond}))
	token, err := given.HandOver()
	if err != nil || token != given.Token() {
		t.Fatalf("HandOver: %q, %v, want the token %q", token, err, given.Token())
	}
	wantExactly(t, "cause of the giver's context", context.Cause(given.Context()), redlock.ErrUnlocked)
	wantExactly(t, "Unlock by the giver", given.Unlock(ctx), redlock.ErrNotHeld, redlock.ErrUnlocked)
	wantExactly(t, "Extend by the giver", given.Extend(ctx), redlock.ErrNotHeld, redlock.ErrUnlocked)
	if n := p.holders("lock", token); n < quorum {
		t.Fatalf("%d masters have the token between the two", n)
	}

	taken, err := taker.Adopt(ctx, "lock", token, redlock.WithTTL(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	if taken.Token() != token || taken.Key() != "lock" {
		t.Errorf("adopted %q with token %q", taken.Key(), taken.Token())
	}
	// For several TTLs of the one who handed it over, too.
	for began := time.Now(); time.Since(began) < 3*time.Second; {
		_, err := third.TryLock(ctx, "lock")
		wantExactly(t, "TryLock of a third", err, redlock.ErrTaken)
		if err := taken.Context().Err(); err != nil {
			t.Fatalf("the adopted hold ended: %v", context.Cause(taken.Context()))
		}
		renewed.awaitMore(t, "lock", 1)
	}
	// The giver's end is none of the adopter's business.
	closeClient(t, giver)
	if err := taken.Extend(ctx); err != nil {
		t.Errorf("Extend by the adopter: %v", err)
	}
	mustUnlock(t, taken)
	p.wantFree("lock")
}

func TestAdoptingWithAWrongTokenTouchesNothing(t *testing.T) {
	p := startProcesses(t, five)
	c, other := p.open(), p.open()
	ctx := context.Background()

	_, err := c.Adopt(ctx, "lock", "token")
	wantExactly(t, "Adopt of a free key", err, redlock.ErrNotHeld)
	p.wantFree("lock")

	l := mustTry(t, other, "lock", redlock.WithLease(longTTL))
	eventually(t, "all have the key", func() bool { return p.holders("lock", l.Token()) == five })
	for i := range five {
		p.do(i, "PEXPIRE", "lock", 30_000)
	}
	_, err = c.Adopt(ctx, "lock", l.Token()+"x", redlock.WithTTL(longTTL))
	wantExactly(t, "Adopt of what another holds", err, redlock.ErrNotHeld)
	for i := range five {
		if v, ms := p.value(i, "lock"), p.pttl(i, "lock"); v != l.Token() || ms > 30_000 {
			t.Errorf("master %d: %q with %d ms left, want it untouched", i, v, ms)
		}
	}
	mustUnlock(t, l)
	p.wantFree("lock")
}

// A minority that has the token is no hold, and a majority is one.
func TestAdoptNeedsAQuorum(t *testing.T) {
	p := startProcesses(t, five)
	c := p.open()
	ctx := context.Background()
	for i := range 2 {
		p.do(i, "SET", "lock", "token", "PX", 60_000)
	}
	_, err := c.Adopt(ctx, "lock", "token")
	wantExactly(t, "Adopt of two of five", err, redlock.ErrNotHeld)
	p.do(2, "SET", "lock", "token", "PX", 60_000)
	p.foreign("lock", strangersToken, 3)
	l, err := c.Adopt(ctx, "lock", "token")
	if err != nil {
		t.Fatalf("Adopt of three of five: %v", err)
	}
	mustUnlock(t, l)
	eventually(t, "ours is released", func() bool { return p.holders("lock", "") == 4 })
	if v := p.value(3, "lock"); v != strangersToken {
		t.Errorf("the stranger's key is %q", v)
	}
	p.remove("lock")
}

// Between processes, as an upgrade of a running program would do it.
func TestAHoldIsHandedFromOneProcessToAnother(t *testing.T) {
	p := startProcesses(t, five)
	p.trusting = true
	c := p.open()
	ctx := context.Background()
	const ttl = 2 * time.Second
	worker := startChild(t)

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
	second := startChild(t)
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
